package tooldoc_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/tooldoc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

func lambda(name, description string) tooldoc.Document {
	return tooldoc.Document{Name: name, Kind: tooldoc.Lambda, Summary: "s", Description: description, Input: json.RawMessage(`{"type":"object"}`), Source: "x", Runtime: "typescript"}
}

// bench keeps the shelf of the agent "a".
type bench struct {
	t     *testing.T
	store store.Store
	now   int64
}

func each(t *testing.T, fn func(t *testing.T, b *bench)) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) { fn(t, &bench{t: t, store: s, now: 1}) })
}

func (b *bench) write(fn func(tx store.Tx) error) error {
	return b.store.Write(b.t.Context(), store.Interactive, fn)
}

func (b *bench) save(d tooldoc.Document, previous string) (s tooldoc.Stored, err error) {
	err = b.write(func(tx store.Tx) (err error) {
		s, err = tooldoc.Save(tx, "a", d, previous, true, tooldoc.ByAgent, b.now)
		return err
	})
	return s, err
}

func (b *bench) reconcile(kind tooldoc.Kind, server string, documents ...tooldoc.Document) (skipped []string) {
	b.t.Helper()
	err := b.write(func(tx store.Tx) (err error) {
		skipped, err = tooldoc.Reconcile(tx, "a", kind, server, documents, b.now)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return skipped
}

// shelf is a line for each document, and the revision.
func (b *bench) shelf() (lines []string, revision int64) {
	b.t.Helper()
	err := b.store.Read(b.t.Context(), func(tx store.Tx) error {
		list, err := tooldoc.List(tx, "a")
		for _, s := range list {
			lines = append(lines, fmt.Sprintf("%s %s %s %d-%d %t", s.Document.Name, s.Document.Kind, s.Document.Description, s.CreatedAt, s.UpdatedAt, s.Enabled))
			if cid, err := s.Document.CID(); err != nil || cid != s.CID {
				b.t.Errorf("%s is stored as %s and has %s, %v", s.Document.Name, s.CID, cid, err)
			}
		}
		if err == nil {
			revision, err = tooldoc.Revision(tx, "a")
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return lines, revision
}

func TestSavingNeverOverwritesAnotherToolAndARenameKeepsItsAge(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		for _, name := range []string{"one", "two"} {
			if _, err := b.save(lambda(name, "d"), ""); err != nil {
				t.Fatal(err)
			}
		}
		b.now = 2
		for _, c := range []struct {
			name, previous, want string
			code                 fault.Code
		}{
			{"one", "", `A tool named "one" already exists`, fault.Conflict},
			{"two", "one", `A tool named "two" already exists`, fault.Conflict},
			{"three", "none", `Tool "none" not found`, fault.NotFound},
		} {
			if _, err := b.save(lambda(c.name, "new"), c.previous); fault.CodeOf(err) != c.code || err.Error() != c.want {
				t.Errorf("%s after %s: %v", c.name, c.previous, err)
			}
		}
		if s, err := b.save(lambda("three", "new"), "one"); err != nil || s.CreatedAt != 1 || s.UpdatedAt != 2 {
			t.Errorf("rename = %+v, %v", s, err)
		}
		lines, revision := b.shelf()
		if want := []string{"three lambda new 1-2 true", "two lambda d 1-1 true"}; !slices.Equal(lines, want) || revision < 3 {
			t.Errorf("the shelf holds %v at revision %d", lines, revision)
		}
	})
}

func TestBuiltinsAndToolsOfServersAreNotEditedByHand(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		b.reconcile(tooldoc.Builtin, "", tooldoc.Document{Name: "search", Kind: tooldoc.Builtin, Input: json.RawMessage(`{}`)})
		b.reconcile(tooldoc.MCP, "hub", tooldoc.Document{Name: "hub__x", Kind: tooldoc.MCP, Server: "hub", Input: json.RawMessage(`{}`)})
		for previous, want := range map[string]string{"search": "Builtin tools cannot be edited", "hub__x": `"hub__x" belongs to the MCP server "hub": change or disable the server instead`} {
			if _, err := b.save(lambda(previous, "mine"), previous); fault.CodeOf(err) != fault.ValidationFailed || err.Error() != want {
				t.Errorf("%s: %v", previous, err)
			}
			if _, err := b.save(lambda(previous, "mine"), ""); fault.CodeOf(err) != fault.Conflict {
				t.Errorf("%s as a new tool: %v", previous, err)
			}
		}
	})
}

func TestReconcileRefreshesWhatDriftedAndLeavesTheRest(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		doc := func(name, description string) tooldoc.Document {
			return tooldoc.Document{Name: name, Kind: tooldoc.Builtin, Description: description, Input: json.RawMessage(`{"type":"object"}`)}
		}
		if _, err := b.save(lambda("mine", "d"), ""); err != nil {
			t.Fatal(err)
		}
		b.reconcile(tooldoc.Builtin, "", doc("same", "d"), doc("drifts", "old"), doc("goes", "d"))
		err := b.write(func(tx store.Tx) error {
			_, err := tooldoc.Put(tx, "a", doc("same", "d"), false, 1)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		_, before := b.shelf()
		b.now = 2
		if skipped := b.reconcile(tooldoc.Builtin, "", doc("same", "d"), doc("drifts", "new"), doc("comes", "d"), doc("mine", "builtin")); !slices.Equal(skipped, []string{"mine"}) {
			t.Errorf("skipped %v", skipped)
		}
		lines, after := b.shelf()
		want := []string{"comes builtin d 2-2 true", "drifts builtin new 1-2 true", "mine lambda d 1-1 true", "same builtin d 1-1 false"}
		if !slices.Equal(lines, want) || after <= before {
			t.Errorf("the shelf holds\n%s\nat %d after %d", strings.Join(lines, "\n"), after, before)
		}
		b.now = 3
		b.reconcile(tooldoc.Builtin, "", doc("same", "d"), doc("drifts", "new"), doc("comes", "d"))
		if _, again := b.shelf(); again != after {
			t.Errorf("what is the same counted as a change: %d after %d", again, after)
		}
	})
}

func TestOneServersToolsDoNotTouchAnothers(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		doc := func(server, name string) tooldoc.Document {
			return tooldoc.Document{Name: server + "__" + name, Kind: tooldoc.MCP, Server: server, RemoteName: name, Input: json.RawMessage(`{"type":"object"}`)}
		}
		b.reconcile(tooldoc.MCP, "one", doc("one", "a"), doc("one", "b"))
		b.reconcile(tooldoc.MCP, "two", doc("two", "a"))
		b.reconcile(tooldoc.MCP, "one")
		lines, _ := b.shelf()
		if !slices.Equal(lines, []string{"two__a mcp  1-1 true"}) {
			t.Errorf("the shelf holds %v", lines)
		}
		if err := b.write(func(tx store.Tx) error { return tooldoc.Clear(tx, "a") }); err != nil {
			t.Fatal(err)
		}
		if lines, revision := b.shelf(); len(lines) != 0 || revision != 0 {
			t.Errorf("after Clear: %v at %d", lines, revision)
		}
	})
}

func TestWhoChangesAToolIsItsAuthorAndWhoOnlySwitchesItIsNot(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		for _, c := range []struct {
			description, previous string
			enabled               bool
			by, want              tooldoc.Author
		}{
			{"first", "", true, tooldoc.ByAgent, tooldoc.ByAgent},
			{"first", "count", false, tooldoc.ByPerson, tooldoc.ByAgent},
			{"second", "count", false, tooldoc.ByPerson, tooldoc.ByPerson},
			{"second", "count", true, tooldoc.ByAgent, tooldoc.ByPerson},
		} {
			err := b.write(func(tx store.Tx) error {
				if _, err := tooldoc.Save(tx, "a", lambda("count", c.description), c.previous, c.enabled, c.by, 1); err != nil {
					return err
				}
				s, _, err := tooldoc.Find(tx, "a", "count")
				if s.Author != c.want || s.Enabled != c.enabled {
					t.Errorf("%+v: by %q, on %t", c, s.Author, s.Enabled)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestAnAgentHasABoundedNumberOfToolsOfItsOwn(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		err := b.write(func(tx store.Tx) error {
			for i := range tooldoc.MaxAuthored {
				if _, err := tooldoc.Save(tx, "a", lambda(fmt.Sprintf("t%d", i), "d"), "", true, tooldoc.ByAgent, 1); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.save(lambda("one-more", "d"), ""); fault.CodeOf(err) != fault.TooLarge || !strings.Contains(err.Error(), "256") {
			t.Errorf("one more: %v", err)
		}
		if _, err := b.save(lambda("renamed", "d"), "t1"); err != nil {
			t.Errorf("a rename at the limit: %v", err)
		}
	})
}
