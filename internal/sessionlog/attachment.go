package sessionlog

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Limits of attachments (spec §11).
const (
	MaxAttachmentBytes = 100 << 20
	MaxAttachments     = 200
	maxAttachmentName  = 256
)

// Attachment is a file whose bytes are kept, ready to be added to a session.
type Attachment struct {
	Hash     string
	Size     int64
	Name     string
	MIMEType string
}

// PrepareAttachment keeps the bytes of a file before the transaction that adds it. The name is reduced to its base name.
func (l *Log) PrepareAttachment(ctx context.Context, name, mimeType string, content []byte) (Attachment, error) {
	if len(content) == 0 {
		return Attachment{}, fault.Invalid("Attachment content is required")
	}
	return l.PrepareAttachmentFrom(ctx, name, mimeType, bytes.NewReader(content))
}

// PrepareAttachmentFrom is PrepareAttachment for content that does not come in one piece.
func (l *Log) PrepareAttachmentFrom(ctx context.Context, name, mimeType string, content io.Reader) (Attachment, error) {
	tooLarge := func() error {
		return fault.New(fault.TooLarge, "Attachment is too large: at most %d bytes", MaxAttachmentBytes)
	}
	blob, err := l.opts.Blobs.Put(ctx, bounded.Reader(content, MaxAttachmentBytes, tooLarge))
	if refused, ok := errors.AsType[*fault.Error](err); ok {
		return Attachment{}, refused
	}
	if err != nil {
		return Attachment{}, fmt.Errorf("keep attachment: %w", err)
	}
	name = baseName(name)
	if mimeType == "" {
		mimeType = mimeByName(name)
	}
	return Attachment{Hash: blob.Hash, Size: blob.Size, Name: name, MIMEType: mimeType}, nil
}

// Attach adds a prepared file to a session. The same bytes have the same id and are added once, under their first name. It
// fails with not_found when the session does not exist, and with too_large when it has MaxAttachments.
func (l *Log) Attach(tx store.Tx, sessionID string, a Attachment) (wire.AttachmentInfo, error) {
	// The session's row is written, though nothing of it changes: on PostgreSQL two transactions that count, or one that
	// counts and one that deletes the session, meet here, and the loser runs again.
	n, err := tx.Exec(`UPDATE sessions SET last_seq = last_seq WHERE id = ?`, sessionID)
	if err != nil {
		return wire.AttachmentInfo{}, fmt.Errorf("add attachment: %w", err)
	}
	if n == 0 {
		return wire.AttachmentInfo{}, fault.Missing(textSessionNotFound)
	}
	if existing, err := GetAttachment(tx, sessionID, a.Hash); fault.CodeOf(err) != fault.NotFound {
		return existing, err
	}
	if err := tx.QueryRow(`SELECT count(*) FROM session_attachments WHERE session_id = ?`, sessionID).Scan(&n); err != nil {
		return wire.AttachmentInfo{}, fmt.Errorf("count attachments: %w", err)
	}
	if n >= MaxAttachments {
		return wire.AttachmentInfo{}, fault.New(fault.TooLarge, "Session has too many attachments: at most %d", MaxAttachments)
	}
	now := clock.Millis(l.opts.Clock)
	_, err = tx.Exec(`INSERT INTO session_attachments (session_id, id, name, mime_type, size, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
		sessionID, a.Hash, a.Name, a.MIMEType, a.Size, now)
	if err != nil {
		return wire.AttachmentInfo{}, fmt.Errorf("add attachment: %w", err)
	}
	return wire.AttachmentInfo{ID: a.Hash, SessionID: sessionID, Name: a.Name, MimeType: a.MIMEType, Size: a.Size, CreatedAt: now}, nil
}

// GetAttachment reads the record of a file. It fails with not_found "Attachment not found: <id>".
func GetAttachment(tx store.Tx, sessionID, attachmentID string) (wire.AttachmentInfo, error) {
	a := wire.AttachmentInfo{ID: attachmentID, SessionID: sessionID}
	err := tx.QueryRow(`SELECT name, mime_type, size, created_at FROM session_attachments WHERE session_id = ? AND id = ?`,
		sessionID, attachmentID).Scan(&a.Name, &a.MimeType, &a.Size, &a.CreatedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return wire.AttachmentInfo{}, fault.Missing("Attachment not found: %s", attachmentID)
	}
	return a, err
}

// AttachmentData reads the bytes of a file that GetAttachment found.
func (l *Log) AttachmentData(ctx context.Context, a wire.AttachmentInfo) ([]byte, error) {
	return l.opts.Blobs.ReadAll(ctx, a.ID, MaxAttachmentBytes)
}

func baseName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, name)
	for len(name) > maxAttachmentName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	if name == "" || name == "." || name == "/" || name == ".." {
		return "file"
	}
	return name
}

// mimeByName knows the types that clients show or that models see; others stay unknown rather than guessed.
func mimeByName(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	case ".pdf":
		return "application/pdf"
	case ".md":
		return "text/markdown"
	case ".txt", ".log":
		return "text/plain"
	case ".csv":
		return "text/csv"
	case ".json":
		return "application/json"
	case ".html":
		return "text/html"
	}
	return ""
}
