package space_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/space"
)

func TestASlightlyWrongAddressMeansOne(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"memory/notes/trip.md": "~/memory/notes/trip.md", "/memory/x": "~/memory/x", "./memory/x": "~/memory/x", "~memory/x": "~/memory/x",
		"~/Memory/X.md": "~/memory/X.md", "MEMORY": "~/memory", "memory/": "~/memory/", "memory://x": "~/memory/x", "memory:x/y": "~/memory/x/y",
		"`~/memory/x`": "~/memory/x", `"~/self"`: "~/self", "self": "~/self", "Self:": "~/self", "tools/call": "~/tools/call",
		"/workspace/out/a.csv": "~/memory/out/a.csv", "file:///workspace/a.csv": "~/memory/a.csv", "file://~/memory/a": "~/memory/a", "loam://~/tools/x": "~/tools/x",
		"THREAD:1": "thread:1", "thread://1": "thread:1", "thread/1/": "thread:1", "/run/7": "run:7", "Attachment:x": "attachment:x", "activity": "activity:",
		"ACTIVITY:": "activity:", "HM://z6/a": "hm://z6/a", "hm:z6/a": "hm://z6/a", "hm:/z6": "hm://z6", "IPFS:bafy": "ipfs://bafy",
		"HTTPS://Example.com/A": "https://Example.com/A", "https:/example.com": "https://example.com", "<https://example.com>": "https://example.com",
		"www.example.com/a": "https://www.example.com/a", "~/https://example.com/a": "https://example.com/a", "web:https://example.com": "https://example.com",
		"url=hm://z6/a": "hm://z6/a", "z6MkneMkZqwqRiU5mJzSG3kDwzt9P8C59N4NGTfBLfSGE7c7/z6Emd3AyVBsLLo": "hm://z6MkneMkZqwqRiU5mJzSG3kDwzt9P8C59N4NGTfBLfSGE7c7/z6Emd3AyVBsLLo",
	} {
		if got, ok := space.Meant(address); !ok || got != want {
			t.Errorf("Meant(%q) = %q, %v, want %q", address, got, ok, want)
		}
	}
	for _, address := range []string{
		"", "~", "~/", "/etc/passwd", "notes.md", "thread", "~/memory/x", "https://example.com/?next=https://other.example", "thread:1", "mailto:a@b.c",
		"data:text/plain,x", "../memory/x", "memoryless/x", "file:///etc/passwd", "javascript:alert(1)", strings.Repeat("/", 1000), "::",
	} {
		if got, ok := space.Meant(address); ok {
			t.Errorf("Meant(%q) = %q", address, got)
		}
	}
}

func TestReadsSayWhatAWrongAddressWasReadAs(t *testing.T) {
	t.Parallel()
	r := space.NewRouter(desk{shelf{"~/memory"}})
	for address, want := range map[string]any{"~/memory/x": nil, " ~/memory/x ": nil, "memory/x": "~/memory/x", "~/Memory": "~/memory"} {
		got, err := r.Read(t.Context(), space.Scope{}, space.ReadRequest{Address: address})
		if err != nil || got["readAs"] != want {
			t.Errorf("Read(%q) = %v, %v", address, got, err)
		}
	}
	// A scheme that this server does not have is not meant either.
	if _, err := r.Read(t.Context(), space.Scope{}, space.ReadRequest{Address: "THREAD:1"}); err == nil || !strings.HasPrefix(err.Error(), `Unsupported address "THREAD:1"`) {
		t.Errorf("a scheme that is not there: %v", err)
	}
}

func TestWritesRefuseAWrongAddressAndNameTheRightOne(t *testing.T) {
	t.Parallel()
	r := space.NewRouter(desk{shelf{"~/memory"}})
	_, err := r.Write(t.Context(), space.Scope{}, space.WriteRequest{Address: "memory/x"})
	if fault.CodeOf(err) != fault.ValidationFailed || err.Error() != `Nothing is written to "memory/x", which is no address. Did you mean ~/memory/x?` {
		t.Errorf("Write() = %v", err)
	}
}

// files is a shelf whose addresses never end in a slash.
type files struct{ shelf }

func (f files) Read(ctx context.Context, scope space.Scope, req space.ReadRequest) (space.Result, error) {
	if strings.HasSuffix(req.Address, "/") || strings.HasSuffix(req.Address, "nothing") {
		return nil, fault.Missing("There is no %s", req.Address)
	}
	return f.shelf.Read(ctx, scope, req)
}

func TestASlashAtTheEndOfAFileDoesNotMatter(t *testing.T) {
	t.Parallel()
	r := space.NewRouter(files{shelf{"~/a"}})
	got, err := r.Read(t.Context(), space.Scope{}, space.ReadRequest{Address: "~/a/x.md//"})
	if err != nil || got["readAs"] != "~/a/x.md" || got["summary"] != "~/a got ~/a/x.md" {
		t.Errorf("Read() = %v, %v", got, err)
	}
	// What is missing both ways is missing as it was asked for.
	if _, err := r.Read(t.Context(), space.Scope{}, space.ReadRequest{Address: "~/a/nothing/"}); err == nil || err.Error() != "There is no ~/a/nothing/" {
		t.Errorf("Read() of nothing = %v", err)
	}
}

func FuzzMeant(f *testing.F) {
	for _, s := range []string{"memory/x", "THREAD:1", "~/https://a", "`x`", "file:///workspace"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		right, ok := space.Meant(s)
		known := regexp.MustCompile(`^(~/(memory|tools|triggers|self)(/|$)|(thread|run|attachment|activity):|(hm|ipfs|https?)://)`)
		if ok && !known.MatchString(right) {
			t.Errorf("%q means %q", s, right)
		}
	})
}
