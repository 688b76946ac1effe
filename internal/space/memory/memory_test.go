package memory_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	files "github.com/loam-agents/loam/internal/memory"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/space/memory"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

// bench is the scheme over a real database and real files.
type bench struct {
	t       *testing.T
	scheme  *memory.Scheme
	store   store.Store
	blobs   *blobstore.Dir
	changes int
	// full is what is said of the storage.
	full error
}

func each(t *testing.T, fn func(t *testing.T, b *bench)) {
	t.Helper()
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		blobs, err := blobstore.OpenDir(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = blobs.Close() })
		b := &bench{t: t, store: s, blobs: blobs}
		b.scheme = memory.New(s, blobs, clock.NewFake(time.UnixMilli(1_800_000_000_000)), func(tx store.Tx, scope space.Scope) {
			tx.AfterCommit(func() { b.changes++ })
		}, func(store.Tx, space.Scope) error { return b.full })
		fn(t, b)
	})
}

var scope = space.Scope{Account: "account", Agent: "agent"}

// read returns a result as a model gets it, or the text of the error.
func (b *bench) read(address string, options map[string]any) string {
	b.t.Helper()
	out, err := b.scheme.Read(b.t.Context(), scope, space.ReadRequest{Address: address, Options: options})
	if err != nil {
		return string(fault.CodeOf(err)) + ": " + err.Error()
	}
	return encode(b.t, out)
}

func (b *bench) write(req space.WriteRequest) string {
	b.t.Helper()
	change, err := b.scheme.Write(b.t.Context(), scope, req)
	var out space.Result
	if err == nil {
		err = b.store.Write(b.t.Context(), store.Interactive, func(tx store.Tx) (err error) {
			out, err = change.Apply(tx)
			return err
		})
	}
	if err != nil {
		return string(fault.CodeOf(err)) + ": " + err.Error()
	}
	return encode(b.t, out)
}

func (b *bench) put(path string, content []byte) {
	b.t.Helper()
	p, err := files.Prepare(b.t.Context(), b.blobs, content)
	if err != nil {
		b.t.Fatal(err)
	}
	err = b.store.Write(b.t.Context(), store.Interactive, func(tx store.Tx) error {
		_, err := files.Write(tx, "agent", path, p, 7)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(buf.String())
}

func text(s string) *string { return &s }

func TestAFileIsWrittenReadReplacedAndDeleted(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		for i, step := range []struct{ got, want string }{
			{b.write(space.WriteRequest{Address: "~/memory/notes/tea.md", Content: text("green")}),
				`{"mimeType":"text/markdown","path":"notes/tea.md","size":5,"summary":"Wrote ~/memory/notes/tea.md (5 bytes)","type":"file","updatedAt":1800000000000}`},
			{b.read("~/memory/notes/tea.md", nil),
				`{"content":"green","encoding":"utf8","mimeType":"text/markdown","path":"notes/tea.md","size":5,"summary":"Read ~/memory/notes/tea.md","updatedAt":1800000000000}`},
			{b.write(space.WriteRequest{Address: "~/memory/notes/tea.md", Content: text("")}),
				`{"mimeType":"text/markdown","path":"notes/tea.md","size":0,"summary":"Wrote ~/memory/notes/tea.md (0 bytes)","type":"file","updatedAt":1800000000000}`},
			{b.read("~/memory/notes/tea.md", nil),
				`{"content":"","encoding":"utf8","mimeType":"text/markdown","path":"notes/tea.md","size":0,"summary":"Read ~/memory/notes/tea.md","updatedAt":1800000000000}`},
			{b.write(space.WriteRequest{Address: "~/memory/notes", Options: map[string]any{"delete": true}}),
				`{"deleted":true,"path":"notes","summary":"Deleted ~/memory/notes"}`},
			{b.write(space.WriteRequest{Address: "~/memory/notes", Options: map[string]any{"delete": true}}),
				`{"deleted":false,"path":"notes","summary":"Nothing to delete at ~/memory/notes"}`},
			{b.read("~/memory/notes/tea.md", nil), "not_found: Memory file not found"},
		} {
			if step.got != step.want {
				t.Errorf("step %d:\n got %s\nwant %s", i, step.got, step.want)
			}
		}
		if b.changes != 3 {
			t.Errorf("%d changes were told, want 3", b.changes)
		}
	})
}

func TestAFolderIsListedWithOrWithoutItsSlash(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		if got := b.read("~/memory", nil); got != `{"entries":[],"path":"","summary":"~/memory/: 0 entries","totalBytes":0}` {
			t.Errorf("an empty memory reads as %s", got)
		}
		b.put("a/b/c.txt", []byte("abc"))
		b.put("top.md", []byte("top"))
		root := b.read("~/memory/", nil)
		for _, address := range []string{"~/memory", "~/memory//", "~/memory/."} {
			if got := b.read(address, nil); got != root {
				t.Errorf("%s reads as %s, want %s", address, got, root)
			}
		}
		if !strings.Contains(root, `"path":"top.md"`) || strings.Contains(root, "c.txt") {
			t.Errorf("the root reads as %s", root)
		}
		if with, without := b.read("~/memory/a/b/", nil), b.read("~/memory/a/b", nil); with != without || !strings.Contains(with, `"path":"a/b/c.txt"`) {
			t.Errorf("a folder reads as %s and %s", with, without)
		}
		if got := b.read("~/memory/none/", nil); !strings.HasPrefix(got, "not_found: ") {
			t.Errorf("a folder that is not there reads as %s", got)
		}
	})
}

func TestBinaryFilesAreDescribedNotShown(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.put("x.png", []byte{0x89, 'P', 'N', 'G', 0, 0xff})
		got := b.read("~/memory/x.png", nil)
		if !strings.Contains(got, `"encoding":"base64"`) && !strings.Contains(got, `"encoding":"binary"`) || strings.Contains(got, "content") || !strings.Contains(got, `"size":6`) {
			t.Errorf("a picture reads as %s", got)
		}
	})
}

func TestALongFileIsCutOnACharacter(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.put("long.txt", []byte("x"+strings.Repeat("é", memory.MaxRead/2)))
		out, err := b.scheme.Read(t.Context(), scope, space.ReadRequest{Address: "~/memory/long.txt"})
		if err != nil {
			t.Fatal(err)
		}
		content := out["content"].(string)
		if out["truncated"] != true || len(content) != memory.MaxRead-1 || !strings.HasSuffix(content, "é") || out["size"] != int64(memory.MaxRead+1) {
			t.Errorf("the file reads as %d bytes of %v, truncated %v", len(content), out["size"], out["truncated"])
		}
	})
}

func TestOfAFileThatIsTooLargeToReadTheBeginningIsShown(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		for name, unit := range map[string]string{"text": "é234567", "binary": "\x00234567"} {
			file, err := files.PrepareFrom(t.Context(), b.blobs, strings.NewReader(strings.Repeat(unit, files.MaxFileBytes/7)))
			if err != nil {
				t.Fatal(err)
			}
			err = b.store.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
				_, err := files.Write(tx, scope.Agent, name, file, 1)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			got := b.read("~/memory/"+name, nil)
			text := strings.Contains(got, unit+unit) && strings.Contains(got, `"encoding":"utf8"`)
			if strings.Contains(got, `"truncated":true`) != (name == "text") || len(got) > memory.MaxRead+1000 || text != (name == "text") || strings.ContainsRune(got, '\uFFFD') {
				t.Errorf("%s: %d bytes, %.200s", name, len(got), got)
			}
		}
	})
}

func TestWhatDoesNotFitIntoTheStorageIsNotKept(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.put("a.txt", []byte("x"))
		b.full = fault.New(fault.TooLarge, "full")
		if got := b.write(space.WriteRequest{Address: "~/memory/b.txt", Content: text("y")}); got != "too_large: full" {
			t.Errorf("a write: %s", got)
		}
		if got := b.read("~/memory/b.txt", nil); !strings.HasPrefix(got, "not_found") {
			t.Errorf("it was kept: %s", got)
		}
		if got := b.write(space.WriteRequest{Address: "~/memory/a.txt", Options: map[string]any{"delete": true}}); !strings.Contains(got, `"deleted":true`) {
			t.Errorf("a deletion, which makes room: %s", got)
		}
	})
}

func TestNobodyLeavesTheFolder(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.put("a.md", []byte("a"))
		for _, address := range []string{"~/memory/../a.md", "~/memory/x/../../a", `~/memory/..\a`, "~/memory/a\x00b", "~/memory/" + strings.Repeat("a/", 20)} {
			if got := b.read(address, nil); !strings.HasPrefix(got, "validation_failed: ") {
				t.Errorf("%q reads as %s", address, got)
			}
			if got := b.write(space.WriteRequest{Address: address, Content: text("x")}); !strings.HasPrefix(got, "validation_failed: ") {
				t.Errorf("%q is written as %s", address, got)
			}
		}
		other := space.Scope{Account: "account", Agent: "other"}
		if _, err := b.scheme.Read(t.Context(), other, space.ReadRequest{Address: "~/memory/a.md"}); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("another agent reads the file: %v", err)
		}
	})
}

func TestAWriteThatMakesNoSenseIsRefusedAndChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.put("a.md", []byte("a"))
		no, yes := false, true
		for name, c := range map[string]struct {
			req  space.WriteRequest
			want string
		}{
			"nothing to do":    {space.WriteRequest{Address: "~/memory/a.md"}, "Content is required to write ~/memory/a.md (or options.delete to remove it)"},
			"delete is false":  {space.WriteRequest{Address: "~/memory/a.md", Options: map[string]any{"delete": false}}, "Content is required to write ~/memory/a.md (or options.delete to remove it)"},
			"both":             {space.WriteRequest{Address: "~/memory/a.md", Content: text(""), Options: map[string]any{"delete": true}}, "Give either content or options.delete, not both"},
			"a delete of text": {space.WriteRequest{Address: "~/memory/a.md", Options: map[string]any{"delete": "yes"}}, "options.delete must be true or false"},
			"the root":         {space.WriteRequest{Address: "~/memory/", Options: map[string]any{"delete": true}}, "Name a file under ~/memory/ to write to"},
			"unknown":          {space.WriteRequest{Address: "~/memory/a.md", Options: map[string]any{"append": true}}, `Unknown option "append" for ~/memory writes. Supported: delete`},
			"dryRun":           {space.WriteRequest{Address: "~/memory/a.md", Content: text("x"), DryRun: &yes}, "dryRun is not supported for ~/memory writes"},
			"dryRun false":     {space.WriteRequest{Address: "~/memory/a.md", Content: text("x"), DryRun: &no}, "dryRun is not supported for ~/memory writes"},
			"dryRun option":    {space.WriteRequest{Address: "~/memory/a.md", Options: map[string]any{"dryRun": true}}, "dryRun is a field of the call itself, not an option"},
		} {
			if got := b.write(c.req); got != "validation_failed: "+c.want {
				t.Errorf("%s: %s", name, got)
			}
		}
		if got := b.read("~/memory/a.md", map[string]any{"raw": true}); got != `validation_failed: Unknown option "raw" for ~/memory: it takes no options` {
			t.Errorf("an unknown option of a read: %s", got)
		}
		if got := b.read("~/memory/a.md", nil); !strings.Contains(got, `"content":"a"`) || b.changes != 0 {
			t.Errorf("the file reads as %s after %d changes", got, b.changes)
		}
	})
}
