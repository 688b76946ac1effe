// Package upload keeps files that arrive in chunks until they are whole (spec/agents-protocol.md §3.4).
//
// An upload is a row with what it is for, how long it is and how much of it was received; its chunks are parts of the blob store's
// staging. A chunk's bytes are staged before the transaction that counts them, so that of two chunks for one place the
// transaction decides, and no byte of the other gets into the file. Both outlive a restart of the server. What nobody goes on
// with is swept after IdleLife, and so is a part that no row names.
//
// upload is tier 2. It imports store, blobstore's staging through Parts, and fault. Operations (tier 6) decide who may upload
// and what becomes of a whole file.
package upload

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Limits of uploads (spec §3.0).
const (
	// MaxChunk bounds one chunk in bytes.
	MaxChunk = 8 << 20
	// MaxOpen bounds the uploads that an account has open.
	MaxOpen = 8
	// IdleLife is how long an upload waits for its next chunk.
	IdleLife = time.Hour
)

// Target is what a file is for.
type Target struct {
	// Kind is wire.UploadMemory, with Path, or wire.UploadAttachment, with Session, Name and MimeType.
	Kind                 string
	Agent, Session       string
	Path, Name, MimeType string
}

// Upload is a file that is on its way.
type Upload struct {
	ID string
	// Account is the owner of the agent, whose limits count.
	Account string
	Target
	// Size and Received are in bytes, the times epoch milliseconds.
	Size, Received       int64
	CreatedAt, UpdatedAt int64
}

// Begin opens an upload. An account with MaxOpen is fault.RateLimited.
func Begin(tx store.Tx, u Upload) error {
	// Whoever counts the uploads of an account comes after the one before.
	if err := tx.Lock("uploads/" + u.Account); err != nil {
		return fmt.Errorf("begin upload: %w", err)
	}
	var open int64
	err := tx.QueryRow(`SELECT count(*) FROM uploads WHERE account_id = ? AND updated_at > ?`, u.Account, alive(u.CreatedAt)).Scan(&open)
	if err != nil {
		return fmt.Errorf("count uploads: %w", err)
	}
	if open >= MaxOpen {
		return fault.New(fault.RateLimited, wire.MsgTooManyUploads).With("limit", MaxOpen)
	}
	_, err = tx.Exec(`INSERT INTO uploads (id, account_id, kind, agent_id, session_id, path, name, mime_type, size, received, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)`,
		u.ID, u.Account, u.Kind, u.Agent, u.Session, u.Path, u.Name, u.MimeType, u.Size, u.CreatedAt, u.CreatedAt)
	if err != nil {
		return fmt.Errorf("begin upload: %w", err)
	}
	return nil
}

// alive is the time that the last chunk of a living upload is later than.
func alive(now int64) int64 { return now - IdleLife.Milliseconds() }

// Get reads an upload. One that is unknown or was idle for IdleLife is fault.NotFound.
func Get(tx store.Tx, id string, now int64) (Upload, error) {
	u := Upload{ID: id}
	err := tx.QueryRow(`SELECT account_id, kind, agent_id, session_id, path, name, mime_type, size, received, created_at, updated_at
		FROM uploads WHERE id = ? AND updated_at > ?`, id, alive(now)).
		Scan(&u.Account, &u.Kind, &u.Agent, &u.Session, &u.Path, &u.Name, &u.MimeType, &u.Size, &u.Received, &u.CreatedAt, &u.UpdatedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return Upload{}, fault.Missing(wire.MsgUploadNotFound)
	}
	if err != nil {
		return Upload{}, fmt.Errorf("read upload: %w", err)
	}
	return u, nil
}

// Fits decides whether size bytes may be added at an offset.
func (u *Upload) Fits(offset, size int64) error {
	switch {
	case offset != u.Received:
		return fault.New(fault.Conflict, "%s", wire.MsgChunkOffset(offset, u.Received)).With("received", u.Received)
	case u.Received+size > u.Size:
		return fault.Invalid(wire.MsgUploadOverrun).With("size", u.Size)
	}
	return nil
}

// Whole decides whether every byte has arrived.
func (u *Upload) Whole() error {
	if u.Received != u.Size {
		return fault.Invalid("%s", wire.MsgUploadIncomplete(u.Received, u.Size)).With("received", u.Received)
	}
	return nil
}

// Append counts a chunk whose bytes are staged as part, and returns how many bytes were received. u is what Get read in the same
// transaction.
func Append(tx store.Tx, u Upload, part string, size, now int64) (received int64, err error) {
	if err := u.Fits(u.Received, size); err != nil {
		return 0, err
	}
	// Two chunks for one place meet at this row: on PostgreSQL the loser runs again and finds the place taken.
	n, err := tx.Exec(`UPDATE uploads SET received = ?, updated_at = ? WHERE id = ? AND received = ?`, u.Received+size, now, u.ID, u.Received)
	if err != nil {
		return 0, fmt.Errorf("append to upload: %w", err)
	}
	if n == 0 {
		return 0, fault.Missing(wire.MsgUploadNotFound)
	}
	_, err = tx.Exec(`INSERT INTO upload_chunks (upload_id, begins_at, size, part) VALUES (?, ?, ?, ?)`, u.ID, u.Received, size, part)
	if err != nil {
		return 0, fmt.Errorf("append to upload: %w", err)
	}
	return u.Received + size, nil
}

// Parts names the parts of an upload, in order.
func Parts(tx store.Tx, id string) ([]string, error) {
	return texts(tx, `SELECT part FROM upload_chunks WHERE upload_id = ? ORDER BY begins_at`, id)
}

// Remove forgets an upload. Its parts are the caller's to unstage once the transaction is durable.
func Remove(tx store.Tx, id string) error {
	for _, stmt := range []string{`DELETE FROM upload_chunks WHERE upload_id = ?`, `DELETE FROM uploads WHERE id = ?`} {
		if _, err := tx.Exec(stmt, id); err != nil {
			return fmt.Errorf("remove upload: %w", err)
		}
	}
	return nil
}

func texts(tx store.Tx, query string, args ...any) ([]string, error) {
	rows, err := tx.Query(query, args...)
	if err != nil {
		return nil, fmt.Errorf("read uploads: %w", err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, fmt.Errorf("read uploads: %w", err)
		}
		out = append(out, text)
	}
	return out, rows.Err()
}

// Opener opens parts; a blobstore.Staging is one.
type Opener interface {
	// Staged opens a part.
	Staged(ctx context.Context, name string) (io.ReadCloser, error)
}

// Content reads parts one after another. It holds one of them open at a time; the caller closes it.
func Content(ctx context.Context, from Opener, parts []string) io.ReadCloser {
	return &content{ctx: ctx, from: from, rest: parts}
}

// content is a reader: a context may stand in it because it lives no longer than the call that made it.
type content struct {
	ctx  context.Context
	from Opener
	rest []string
	open io.ReadCloser
}

// Read implements io.Reader.
func (c *content) Read(p []byte) (int, error) {
	for {
		if c.open == nil {
			if len(c.rest) == 0 {
				return 0, io.EOF
			}
			next, err := c.from.Staged(c.ctx, c.rest[0])
			if err != nil {
				return 0, err
			}
			c.open, c.rest = next, c.rest[1:]
		}
		n, err := c.open.Read(p)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		if err := c.Close(); err != nil || n > 0 {
			return n, err
		}
	}
}

// Close implements io.Closer.
func (c *content) Close() error {
	if c.open == nil {
		return nil
	}
	err := c.open.Close()
	c.open = nil
	return err
}
