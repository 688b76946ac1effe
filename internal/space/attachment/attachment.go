// Package attachment serves attachment: addresses: the files of the present conversation, which no other conversation can read.
//
// It is a scheme of the Space (tier 4), read-only, over sessionlog.
package attachment

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/fence"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

const prefix = "attachment:"

// Limits: bytes of a text that a result holds, and of a file that is looked into.
const (
	maxText = 256 << 10
	maxFile = 16 << 20
)

// Scheme serves attachment:.
type Scheme struct {
	store store.Store
	log   *sessionlog.Log
}

// New returns the scheme.
func New(s store.Store, log *sessionlog.Log) *Scheme { return &Scheme{store: s, log: log} }

// Serves implements space.Scheme.
func (*Scheme) Serves(address string) bool { return strings.HasPrefix(address, prefix) }

// Forms implements space.Scheme.
func (*Scheme) Forms() []space.Form {
	return []space.Form{{Address: prefix + "<id>", Read: "a file that was sent in this conversation; its text, if it is one"}}
}

// Read implements space.Scheme.
func (s *Scheme) Read(ctx context.Context, scope space.Scope, req space.ReadRequest) (space.Result, error) {
	if err := space.KnownOptions(req.Options, prefix+"<id>"); err != nil {
		return nil, err
	}
	id := strings.Trim(strings.TrimPrefix(req.Address, prefix), "/ ")
	if id == "" || scope.Session == "" {
		return nil, fault.Invalid("Name a file of this conversation: %s<id>", prefix)
	}
	var a wire.AttachmentInfo
	err := s.store.Read(ctx, func(tx store.Tx) (err error) {
		a, err = sessionlog.GetAttachment(tx, scope.Session, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := space.Result{
		"summary": fmt.Sprintf("%s (%d bytes)", a.Name, a.Size), "id": a.ID, "name": a.Name, "mimeType": a.MimeType, "size": a.Size,
		"shownAsImage": false,
	}
	if a.Size > maxFile {
		out["note"] = fmt.Sprintf("The file is larger than %d bytes and was not looked into", maxFile)
		return out, nil
	}
	data, err := s.log.AttachmentData(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("read attachment: %w", err)
	}
	text := string(data)
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		out["note"] = "The file is not text"
		return out, nil
	}
	if len(text) > maxText {
		text, out["truncated"] = strings.ToValidUTF8(text[:maxText], ""), true
	}
	out["content"] = fence.Outside(a.Name, text)
	return out, nil
}
