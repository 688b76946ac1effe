package trigger

import (
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/fence"
	"github.com/loam-agents/loam/internal/store"
)

// Summary is what an agent is told of its triggers in the index of its Space.
type Summary struct {
	// Active is the number of triggers that are switched on, Names are the first of their names.
	Active int
	Names  []string
}

// Summarize counts the active triggers of an agent and names up to limit of them, by name.
func Summarize(tx store.Tx, agentID string, limit int) (Summary, error) {
	var out Summary
	rows, err := tx.Query(`SELECT name FROM triggers WHERE agent_id = ? AND enabled = 1 ORDER BY name, id`, agentID)
	if err != nil {
		return out, fmt.Errorf("summarize triggers: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return out, fmt.Errorf("summarize triggers: %w", err)
		}
		if out.Active++; len(out.Names) < limit {
			out.Names = append(out.Names, fence.Inline(name))
		}
	}
	return out, rows.Err()
}

// how tells where triggers are read and written.
const how = "read ~/triggers/, write ~/triggers/NAME to start by schedule or event"

// Short is the line without names.
func (s Summary) Short() string {
	if s.Active == 0 {
		return "triggers/ — none; " + how
	}
	return fmt.Sprintf("triggers/ — %d active; %s", s.Active, how)
}

// String is the line of the index.
func (s Summary) String() string {
	if s.Active == 0 {
		return s.Short()
	}
	names := strings.Join(s.Names, " · ")
	if s.Active > len(s.Names) {
		names += " · …"
	}
	return fmt.Sprintf("triggers/ — %d active: %s; %s", s.Active, names, how)
}
