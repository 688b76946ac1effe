package trigger

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store"
)

// maxLinks bounds how far back a run is followed to what led to it.
const maxLinks = 64

// chainOf are the triggers that led to a run, the first of them first: those whose firings started or woke it, its tree, or a run that it
// goes on with.
func chainOf(tx store.Tx, cause *runs.Run) ([]string, error) {
	var chain []string
	for range maxLinks {
		if cause == nil {
			break
		}
		for _, id := range []string{cause.ID, cause.Root} {
			if err := firedInto(tx, id, &chain); err != nil {
				return nil, err
			}
		}
		root := *cause
		if cause.Root != cause.ID {
			var err error
			if root, err = runs.Get(tx, cause.Root); err != nil {
				return nil, err
			}
		}
		if root.ContinuedFrom == "" {
			break
		}
		before, err := runs.Get(tx, root.ContinuedFrom)
		if err != nil {
			return nil, err
		}
		cause = &before
	}
	return chain, nil
}

// firedInto adds the triggers of the chains of firings that started or woke a run.
func firedInto(tx store.Tx, runID string, chain *[]string) error {
	rows, err := tx.Query(`SELECT chain FROM trigger_firings WHERE run_id = ? ORDER BY created_at, id`, runID)
	if err != nil {
		return fmt.Errorf("read the chain of a run: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return fmt.Errorf("read the chain of a run: %w", err)
		}
		var ids []string
		if err := json.Unmarshal([]byte(text), &ids); err != nil {
			return fmt.Errorf("decode the chain of a run: %w", err)
		}
		for _, id := range ids {
			if !slices.Contains(*chain, id) {
				*chain = append(*chain, id)
			}
		}
	}
	return rows.Err()
}
