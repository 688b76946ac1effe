// Package attachment serves attachment: addresses: the files of the present conversation, which no other conversation can read.
//
// It is a scheme of the Space (tier 4), read-only, over sessionlog. What a file says is fenced, since whoever made it may not be who sent
// it. A picture is shown to a model that sees pictures; the log keeps only what the file is.
package attachment

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/fence"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/web/pdftext"
	"github.com/loam-agents/loam/wire"
)

const prefix = "attachment:"

// Limits: bytes of a text that a result holds, and of a file that is looked into.
const (
	maxText = 256 << 10
	maxFile = 16 << 20
)

// pictures are the types of images that models see.
var pictures = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// Scheme serves attachment:.
type Scheme struct {
	store store.Store
	log   *sessionlog.Log
	pdf   pdftext.Program
}

// New returns the scheme. pdf gets the text out of PDF files; an empty one does not.
func New(s store.Store, log *sessionlog.Log, pdf pdftext.Program) *Scheme {
	return &Scheme{store: s, log: log, pdf: pdf}
}

// Serves implements space.Scheme.
func (*Scheme) Serves(address string) bool { return strings.HasPrefix(address, prefix) }

// Forms implements space.Scheme.
func (*Scheme) Forms() []space.Form {
	return []space.Form{{Address: prefix + "<id>", Read: "a file that was sent in this conversation: its text (also of a PDF; options.offset and limit choose a part), or the image"}}
}

// Read implements space.Scheme (spec §8.1).
func (s *Scheme) Read(ctx context.Context, scope space.Scope, req space.ReadRequest) (space.Result, error) {
	part, err := partOf(req.Options)
	if err != nil {
		return nil, err
	}
	id := strings.Trim(strings.TrimPrefix(req.Address, prefix), "/ ")
	if id == "" || scope.Session == "" {
		return nil, fault.Invalid("Name a file of this conversation: %s<id>", prefix)
	}
	var a wire.AttachmentInfo
	err = s.store.Read(ctx, func(tx store.Tx) (err error) {
		a, err = sessionlog.GetAttachment(tx, scope.Session, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := space.Result{
		"summary": fmt.Sprintf("%s (%d bytes)", fence.Inline(a.Name), a.Size), "id": a.ID, "name": a.Name, "mimeType": a.MimeType, "size": a.Size,
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
	sniffed := http.DetectContentType(data)
	switch {
	case slices.Contains(pictures, sniffed):
		picture(out, scope, sniffed, a.Size)
	case bytes.HasPrefix(data, []byte("%PDF-")):
		return out, s.document(ctx, out, a.Name, data, part)
	case utf8.Valid(data) && bytes.IndexByte(data, 0) < 0:
		return out, part.cut(out, a.Name, string(data))
	default:
		out["note"] = "The file is neither text nor a PDF nor an image that can be shown"
	}
	return out, nil
}

// picture says whether the model gets to see an image. Whoever asks the model adds it to what the model is shown.
func picture(out space.Result, scope space.Scope, mimeType string, size int64) {
	out["mimeType"] = mimeType
	switch {
	case size > model.MaxImageBytes:
		out["note"] = fmt.Sprintf("The image is larger than %d bytes, so it cannot be shown", model.MaxImageBytes)
	case !scope.Images:
		out["note"] = "The model of this conversation does not see images, so nobody has looked at this one. Do not guess what is on it"
	default:
		out["shownAsImage"] = true
	}
}

func (s *Scheme) document(ctx context.Context, out space.Result, name string, data []byte, p part) error {
	text, err := s.pdf.Text(ctx, data)
	if _, known := err.(*fault.Error); known {
		out["note"] = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	if text.Truncated {
		out["note"] = fmt.Sprintf("The text is that of the first %d pages or %d bytes", pdftext.MaxPages, pdftext.MaxText)
	}
	return p.cut(out, name, text.Text)
}

// part is which bytes of a text are asked for.
type part struct{ offset, limit int64 }

func partOf(options map[string]any) (p part, err error) {
	if err := space.KnownOptions(options, prefix+"<id>", "offset", "limit"); err != nil {
		return p, err
	}
	if options["offset"] != float64(0) {
		if p.offset, err = space.Count(options, "offset", 0, maxFile); err != nil {
			return p, err
		}
	}
	p.limit, err = space.Count(options, "limit", maxText, maxText)
	return p, err
}

// cut puts the part of a text into a result, whole characters only, and says where the rest begins.
func (p part) cut(out space.Result, name, text string) error {
	from := min(int(p.offset), len(text))
	if int64(len(text)) < p.offset {
		return fault.Invalid("options.offset is beyond the end of the text, which has %d bytes", len(text))
	}
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	to := min(from+int(p.limit), len(text))
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	if to == from && to < len(text) {
		// A limit below the length of one character still goes on.
		_, size := utf8.DecodeRuneInString(text[from:])
		to += size
	}
	if p.offset > 0 {
		out["offset"] = from
	}
	if to < len(text) {
		out["truncated"], out["nextOffset"] = true, to
	}
	out["textSize"] = len(text)
	out["content"] = fence.Outside(name, text[from:to])
	return nil
}
