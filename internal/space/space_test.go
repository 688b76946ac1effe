package space_test

import (
	"context"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
)

// shelf is a scheme that says what it was asked for.
type shelf struct{ root string }

func (s shelf) Serves(address string) bool {
	_, ok := space.Under(address, s.root)
	return ok
}

func (s shelf) Forms() []space.Form {
	return []space.Form{{Address: s.root + "/", Read: "all"}, {Address: s.root + "/<name>", Read: "one", Write: "replace"}}
}

func (s shelf) Read(_ context.Context, _ space.Scope, req space.ReadRequest) (space.Result, error) {
	return space.Result{"summary": s.root + " got " + req.Address}, nil
}

// desk is a shelf that can be written to.
type desk struct{ shelf }

func (d desk) Write(_ context.Context, _ space.Scope, req space.WriteRequest) (space.Change, error) {
	return applied(d.root + " got " + req.Address), nil
}

type applied string

func (a applied) Apply(store.Tx) (space.Result, error) {
	return space.Result{"summary": string(a)}, nil
}

func TestAnAddressFindsItsScheme(t *testing.T) {
	t.Parallel()
	r := space.NewRouter(shelf{"~/a"}, desk{shelf{"~/ab"}})
	for address, want := range map[string]string{"~/a": "~/a got ~/a", " ~/a/x\n": "~/a got ~/a/x", "~/ab/x": "~/ab got ~/ab/x"} {
		got, err := r.Read(t.Context(), space.Scope{}, space.ReadRequest{Address: address})
		if err != nil || got["summary"] != want {
			t.Errorf("Read(%q) = %v, %v, want %q", address, got, err, want)
		}
	}
	change, err := r.Write(t.Context(), space.Scope{}, space.WriteRequest{Address: " ~/ab/x "})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := change.Apply(nil); got["summary"] != "~/ab got ~/ab/x" {
		t.Errorf("Apply() = %v", got)
	}
}

func TestAnUnknownAddressListsTheFormsThatExist(t *testing.T) {
	t.Parallel()
	r := space.NewRouter(shelf{"~/a"}, desk{shelf{"~/b"}})
	for address, want := range map[string]string{
		"":                                   "Address is required. Supported addresses: ~/a/, ~/a/<name>, ~/b/, ~/b/<name>",
		"/etc/passwd":                        `Unsupported address "/etc/passwd". Supported addresses: ~/a/, ~/a/<name>, ~/b/, ~/b/<name>`,
		"~/c":                                `Unsupported address "~/c". Supported`,
		"~":                                  `Unsupported address "~". Supported`,
		"http://" + strings.Repeat("ä", 200): `Unsupported address "http://` + strings.Repeat("ä", 96) + `…"`,
	} {
		_, readErr := r.Read(t.Context(), space.Scope{}, space.ReadRequest{Address: address})
		_, writeErr := r.Write(t.Context(), space.Scope{}, space.WriteRequest{Address: address})
		for _, err := range []error{readErr, writeErr} {
			if fault.CodeOf(err) != fault.ValidationFailed || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%q: %v, want %s", address, err, want)
			}
		}
	}
}

func TestWhatCannotBeWrittenSaysWhatCan(t *testing.T) {
	t.Parallel()
	r := space.NewRouter(shelf{"~/a"}, desk{shelf{"~/b"}})
	_, err := r.Write(t.Context(), space.Scope{}, space.WriteRequest{Address: "~/a/x"})
	if fault.CodeOf(err) != fault.ValidationFailed || !strings.HasPrefix(err.Error(), "~/a/x cannot be written to. Addresses that can: ") {
		t.Errorf("Write() = %v", err)
	}
}

func TestUnknownOptionsAreNamedInOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options map[string]any
		known   []string
		want    string
	}{
		"none":         {nil, nil, ""},
		"known":        {map[string]any{"a": 1}, []string{"a", "b"}, ""},
		"takes none":   {map[string]any{"c": 1}, nil, `Unknown option "c" for x: it takes no options`},
		"takes others": {map[string]any{"d": 1, "c": 1, "a": 1}, []string{"a", "b"}, `Unknown option "c", "d" for x. Supported: a, b`},
		"dryRun":       {map[string]any{"dryRun": true}, []string{"a"}, "dryRun is a field of the call itself, not an option"},
	} {
		for range 10 {
			got := ""
			if err := space.KnownOptions(c.options, "x", c.known...); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Fatalf("%s: %q, want %q", name, got, c.want)
			}
		}
	}
}
