package upload

import (
	"context"
	"errors"
	"iter"

	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/store"
)

// sweepBatch is how many uploads one transaction forgets.
const sweepBatch = 50

// Swept is where parts are removed from; a blobstore.Staging is one.
type Swept interface {
	// Unstage removes a part; one that is not there is no error.
	Unstage(ctx context.Context, name string) error
	// Parts yields every part.
	Parts(ctx context.Context) iter.Seq2[blobstore.Part, error]
}

// Sweep forgets uploads that were idle for IdleLife, and removes the parts that no upload names and that are as old: those of
// forgotten uploads, and what an interrupted request has left. now is epoch milliseconds; the ages of parts are by the clock
// of the files.
func Sweep(ctx context.Context, s store.Store, from Swept, now int64) error {
	for {
		var idle []string
		err := s.Write(ctx, store.Background, func(tx store.Tx) (err error) {
			idle, err = texts(tx, `SELECT id FROM uploads WHERE updated_at <= ? ORDER BY updated_at LIMIT ?`, alive(now), sweepBatch)
			for _, id := range idle {
				err = errors.Join(err, Remove(tx, id))
			}
			return err
		})
		if err != nil {
			return err
		}
		if len(idle) < sweepBatch {
			return sweepParts(ctx, s, from, now)
		}
	}
}

func sweepParts(ctx context.Context, s store.Store, from Swept, now int64) error {
	var old []string
	for part, err := range from.Parts(ctx) {
		if err != nil {
			return err
		}
		if part.Kept.UnixMilli() <= alive(now) {
			old = append(old, part.Name)
		}
	}
	for _, name := range old {
		// A part of this age was counted by now, or never will be.
		var named int64
		err := s.Read(ctx, func(tx store.Tx) error {
			return tx.QueryRow(`SELECT count(*) FROM upload_chunks WHERE part = ?`, name).Scan(&named)
		})
		if err != nil {
			return err
		}
		if named == 0 {
			if err := from.Unstage(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}
