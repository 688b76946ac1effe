package vault

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/store"
)

// rotateBatch is how many rows one transaction of a rotation re-seals: small enough not to hold up other writes.
const rotateBatch = 64

// Rotate seals every secret with a new key and then forgets the old ones. It returns how many secrets it re-sealed.
//
// A crash loses nothing: the source holds old and new key from before the first row changes until after the last one has,
// and running Rotate again completes what was left. A source that cannot be written answers ErrReadOnlyKey. Other
// processes on the same database go on reading, and writing after Refresh. Two rotations must not run at once.
func (v *Vault) Rotate(ctx context.Context) (int, error) {
	// The source, not memory: an interrupted rotation may have left keys there that this process has not seen.
	base, err := v.loadPresent(ctx)
	if err != nil {
		return 0, err
	}
	ring, text, err := base.withNewPrimary()
	if err != nil {
		return 0, err
	}
	if err := v.source.Replace(ctx, text); err != nil {
		return 0, fmt.Errorf("save the new vault key: %w", err)
	}
	if err := v.store.Write(ctx, store.Background, func(tx store.Tx) error { return writeCheck(tx, ring) }); err != nil {
		return 0, fmt.Errorf("announce the new vault key: %w", err)
	}
	v.ring.Store(ring)
	n, err := v.resealAll(ctx, ring)
	if err != nil {
		return n, err
	}
	last, text, err := ring.onlyPrimary()
	if err != nil {
		return n, err
	}
	if err := v.source.Replace(ctx, text); err != nil {
		return n, fmt.Errorf("drop the old vault key: %w", err)
	}
	v.ring.Store(last)
	return n, nil
}

// cursor is the last row of a batch.
type cursor struct{ account, name string }

func (v *Vault) resealAll(ctx context.Context, ring *keyring) (int, error) {
	var at cursor
	total := 0
	for {
		var next cursor
		var changed, seen int
		err := v.store.Write(ctx, store.Background, func(tx store.Tx) (err error) {
			next, seen, changed, err = resealBatch(tx, ring, at)
			return err
		})
		if err != nil {
			return total, fmt.Errorf("seal secrets with the new key: %w", err)
		}
		total += changed
		if seen < rotateBatch {
			return total, nil
		}
		at = next
	}
}

type sealedRow struct {
	cursor
	ciphertext []byte
}

// resealBatch works on the rows after at; a row that the new key sealed already is left alone.
func resealBatch(tx store.Tx, ring *keyring, at cursor) (next cursor, seen, changed int, err error) {
	batch, err := readBatch(tx, at)
	if err != nil {
		return at, 0, 0, err
	}
	next = at
	for _, row := range batch {
		next = row.cursor
		if ring.current(row.ciphertext) {
			continue
		}
		ad := associated(row.account, row.name)
		value, err := ring.aead.Decrypt(row.ciphertext, ad)
		if err != nil {
			return at, 0, 0, fmt.Errorf("%w: a secret of account %s does not open", ErrWrongKey, row.account)
		}
		sealed, err := ring.aead.Encrypt(value, ad)
		if err != nil {
			return at, 0, 0, err
		}
		if _, err := tx.Exec(`UPDATE secrets SET ciphertext = ? WHERE account_id = ? AND name = ?`, sealed, row.account, row.name); err != nil {
			return at, 0, 0, err
		}
		changed++
	}
	return next, len(batch), changed, nil
}

func readBatch(tx store.Tx, at cursor) ([]sealedRow, error) {
	rows, err := tx.Query(`
		SELECT account_id, name, ciphertext FROM secrets
		WHERE (account_id, name) > (?, ?) ORDER BY account_id, name LIMIT ?`, at.account, at.name, rotateBatch)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []sealedRow
	for rows.Next() {
		var row sealedRow
		if err := rows.Scan(&row.account, &row.name, &row.ciphertext); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// readCheck returns the sealed check text; nil when there is none yet.
func readCheck(tx store.Tx) ([]byte, error) {
	var check []byte
	err := tx.QueryRow(`SELECT key_check FROM vault_state WHERE id = 1`).Scan(&check)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("read the vault's state: %w", err)
	}
	return check, nil
}

func writeCheck(tx store.Tx, ring *keyring) error {
	check, err := ring.sealCheck()
	if err != nil {
		return err
	}
	_, err = tx.Exec(`
		INSERT INTO vault_state (id, key_check) VALUES (1, ?)
		ON CONFLICT (id) DO UPDATE SET key_check = excluded.key_check`, check)
	return err
}

// requireCurrent refuses to seal with a key that a rotation elsewhere has replaced. The update touches the row so that a
// transaction that overlaps the announcement of a new key conflicts with it: nothing sealed with the old key can commit
// after the rotation has begun to look at the rows.
func requireCurrent(tx store.Tx, ring *keyring) error {
	var check []byte
	if err := tx.QueryRow(`UPDATE vault_state SET id = id WHERE id = 1 RETURNING key_check`).Scan(&check); err != nil {
		return fmt.Errorf("read the vault's state: %w", err)
	}
	if !ring.current(check) {
		return errStale()
	}
	return nil
}
