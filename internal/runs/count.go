package runs

import (
	"fmt"

	"github.com/loam-agents/loam/internal/store"
)

// LiveCount is how many runs of a lane are in a state.
type LiveCount struct {
	Status Status
	Lane   Lane
	Count  int64
}

// CountLive counts the runs of the database that have not ended. States and lanes without any are left out.
func CountLive(tx store.Tx) ([]LiveCount, error) {
	rows, err := tx.Query(`SELECT status, queue, COUNT(*) FROM runs
		WHERE status IN ('queued', 'claimed', 'running', 'waiting') GROUP BY status, queue ORDER BY status, queue`)
	if err != nil {
		return nil, fmt.Errorf("count live runs: %w", err)
	}
	defer rows.Close()
	var out []LiveCount
	for rows.Next() {
		var c LiveCount
		if err := rows.Scan(&c.Status, &c.Lane, &c.Count); err != nil {
			return nil, fmt.Errorf("count live runs: %w", err)
		}
		out = append(out, c)
	}
	return out, rows.Err()
}
