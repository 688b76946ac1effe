// Package memory serves ~/memory: an agent's own files, which it reads and writes without any grant.
//
// It is a scheme of the Space (tier 4) over the files that internal/memory keeps.
package memory

import (
	"context"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	files "github.com/loam-agents/loam/internal/memory"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

const root = "~/memory"

// MaxRead bounds the text of a file in a result in bytes (spec §8.1, the bound of what a tool may keep).
const MaxRead = 256 << 10

// Guide is the write guide ~/tools/write/memory.
const Guide = `# Writing memory

Memory is your own folder of files. It stays between conversations.

- ` + "`write {address: \"~/memory/notes/trip.md\", content: \"…\"}`" + ` makes the file, and the folders above it.
- A write replaces the whole file; there is no append. Read first, then write everything that should stand in it.
- ` + "`write {address: \"~/memory/notes/trip.md\", options: {delete: true}}`" + ` removes a file, or a folder with all that is in it.
- Keep files short and give them names that say what is in them: the names are what you see first next time.
`

// Scheme serves ~/memory.
type Scheme struct {
	store   store.Store
	blobs   files.Blobs
	clock   clock.Clock
	changed func(tx store.Tx, scope space.Scope)
	kept    func(tx store.Tx, scope space.Scope) error
}

// New returns the scheme. changed is called inside the transaction of every write, and kept, after bytes were added, decides
// there whether they may stay. Both may be nil.
func New(s store.Store, blobs files.Blobs, c clock.Clock, changed func(tx store.Tx, scope space.Scope), kept func(tx store.Tx, scope space.Scope) error) *Scheme {
	if changed == nil {
		changed = func(store.Tx, space.Scope) {}
	}
	if kept == nil {
		kept = func(store.Tx, space.Scope) error { return nil }
	}
	return &Scheme{store: s, blobs: blobs, clock: c, changed: changed, kept: kept}
}

// Serves implements space.Scheme.
func (s *Scheme) Serves(address string) bool {
	_, ok := space.Under(address, root)
	return ok
}

// Forms implements space.Scheme.
func (s *Scheme) Forms() []space.Form {
	return []space.Form{
		{Address: root + "/", Read: "what is in your memory"},
		{Address: root + "/<path>", Read: "a file, or what a folder holds", Write: "content replaces the file; options.delete removes it"},
	}
}

// Read implements space.Scheme: a file, or one level of a folder.
func (s *Scheme) Read(ctx context.Context, scope space.Scope, req space.ReadRequest) (space.Result, error) {
	if err := space.KnownOptions(req.Options, root); err != nil {
		return nil, err
	}
	rest, _ := space.Under(req.Address, root)
	path, err := files.Normalize(strings.Trim(rest, "/"))
	if err != nil {
		return nil, err
	}
	var file files.File
	var listing *files.Listing
	err = s.store.Read(ctx, func(tx store.Tx) error {
		listing = nil
		if path != "" && !strings.HasSuffix(req.Address, "/") {
			f, statErr := files.Stat(tx, scope.Agent, path)
			if statErr == nil {
				file = f
				return nil
			}
			// A folder may be named without its slash; what is neither keeps the file's error.
			if l, dirErr := files.ListDir(tx, scope.Agent, path); dirErr == nil {
				listing = &l
				return nil
			}
			return statErr
		}
		l, dirErr := files.ListDir(tx, scope.Agent, path)
		listing = &l
		return dirErr
	})
	if err != nil {
		return nil, err
	}
	if listing != nil {
		return directory(path, listing), nil
	}
	if file.Size > files.MaxFileBytes {
		// What came in chunks may be larger than what is read at once, and the model sees little of it anyway.
		return s.beginning(ctx, file)
	}
	loaded, err := files.Load(ctx, s.blobs, file)
	if err != nil {
		return nil, err
	}
	return fileResult(loaded), nil
}

// beginning is the result of a file that is not read whole.
func (s *Scheme) beginning(ctx context.Context, file files.File) (space.Result, error) {
	part, err := files.LoadPart(ctx, s.blobs, file, 0, MaxRead)
	if err != nil {
		return nil, err
	}
	part.Encoding = file.Encoding
	if file.Encoding == files.UTF8 {
		text := strings.ToValidUTF8(string(part.Data), "")
		part.Content = &text
	}
	out := fileResult(part)
	if part.Content != nil {
		out["truncated"] = true
	}
	return out, nil
}

func directory(path string, l *files.Listing) space.Result {
	out := space.Result{
		"summary": fmt.Sprintf("%s/%s: %s", root, path, count(len(l.Entries), "entry", "entries")),
		"path":    path, "entries": l.Entries, "totalBytes": l.TotalBytes,
	}
	if l.Truncated {
		out["truncated"] = true
	}
	return out
}

func fileResult(f wire.MemoryFile) space.Result {
	out := space.Result{
		"summary": fmt.Sprintf("Read %s/%s", root, f.Path),
		"path":    f.Path, "size": f.Size, "updatedAt": f.UpdatedAt, "encoding": f.Encoding,
	}
	if f.MimeType != "" {
		out["mimeType"] = f.MimeType
	}
	if f.Content == nil {
		return out
	}
	content := *f.Content
	if len(content) > MaxRead {
		content = strings.ToValidUTF8(content[:MaxRead], "")
		out["truncated"] = true
	}
	out["content"] = content
	return out
}

// Write implements space.Writer.
func (s *Scheme) Write(ctx context.Context, scope space.Scope, req space.WriteRequest) (space.Change, error) {
	if err := space.KnownOptions(req.Options, root+" writes", "delete"); err != nil {
		return nil, err
	}
	if req.DryRun != nil {
		return nil, fault.Invalid("dryRun is not supported for %s writes", root)
	}
	rest, _ := space.Under(req.Address, root)
	path, err := files.Normalize(strings.Trim(rest, "/"))
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, fault.Invalid("Name a file under %s/ to write to", root)
	}
	remove, err := space.Flag(req.Options, "delete")
	if err != nil {
		return nil, err
	}
	switch {
	case remove && req.Content != nil:
		return nil, fault.Invalid("Give either content or options.delete, not both")
	case remove:
		return &deletion{s, scope, path}, nil
	case req.Content == nil:
		return nil, fault.Invalid("Content is required to write %s/%s (or options.delete to remove it)", root, path)
	}
	prepared, err := files.Prepare(ctx, s.blobs, []byte(*req.Content))
	if err != nil {
		return nil, err
	}
	return &replacement{s, scope, path, prepared}, nil
}

type replacement struct {
	s        *Scheme
	scope    space.Scope
	path     string
	prepared files.Prepared
}

// Apply implements space.Change.
func (c *replacement) Apply(tx store.Tx) (space.Result, error) {
	entry, err := files.Write(tx, c.scope.Agent, c.path, c.prepared, clock.Millis(c.s.clock))
	if err != nil {
		return nil, err
	}
	c.s.changed(tx, c.scope)
	if err := c.s.kept(tx, c.scope); err != nil {
		return nil, err
	}
	out := space.Result{
		"summary": fmt.Sprintf("Wrote %s/%s (%s)", root, entry.Path, count(int(entry.Size), "byte", "bytes")),
		"path":    entry.Path, "type": entry.Type, "size": entry.Size, "updatedAt": entry.UpdatedAt,
	}
	if entry.MimeType != "" {
		out["mimeType"] = entry.MimeType
	}
	return out, nil
}

type deletion struct {
	s     *Scheme
	scope space.Scope
	path  string
}

// Apply implements space.Change.
func (c *deletion) Apply(tx store.Tx) (space.Result, error) {
	deleted, err := files.Delete(tx, c.scope.Agent, c.path)
	if err != nil {
		return nil, err
	}
	summary := fmt.Sprintf("Nothing to delete at %s/%s", root, c.path)
	if deleted {
		c.s.changed(tx, c.scope)
		summary = fmt.Sprintf("Deleted %s/%s", root, c.path)
	}
	return space.Result{"summary": summary, "path": c.path, "deleted": deleted}, nil
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
