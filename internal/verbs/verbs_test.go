package verbs_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/govern"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/space/memory"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/internal/verbs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

// bench is the surface of a server over a real database, and one session.
type bench struct {
	t       *testing.T
	set     *verbs.Set
	log     *sessionlog.Log
	store   store.Store
	clock   *clock.Fake
	session string
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
		b := &bench{t: t, store: s, clock: clock.NewFake(time.UnixMilli(1_000))}
		b.log = sessionlog.New(sessionlog.Options{Clock: b.clock, IDs: id.Sequence(), Bus: bus.NewLocal(), Blobs: blobs})
		router := space.NewRouter(memory.New(s, blobs, b.clock, nil, nil), everything{})
		tools, err := callable.New(callable.Options{Store: s, Callables: []callable.Callable{echo{}}, Verbs: []string{"read"}})
		if err != nil {
			t.Fatal(err)
		}
		b.set, err = verbs.NewSet(tools, &govern.Gate{}, verbs.NewRead(router), verbs.NewWrite(router), verbs.NewCall(tools, router, &govern.Gate{}), verbs.NewPlan(b.log, b.clock), verbs.NewStatus(b.log))
		if err != nil {
			t.Fatal(err)
		}
		b.write(func(tx store.Tx) error {
			session, err := b.log.Create(tx, sessionlog.CreateParams{Account: "account", Agent: "agent"})
			b.session = session.ID
			return err
		})
		fn(t, b)
	})
}

func (b *bench) write(fn func(tx store.Tx) error) {
	b.t.Helper()
	if err := b.store.Write(b.t.Context(), store.Interactive, fn); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) prepare(run, name, arguments string) verbs.Action {
	return b.set.Prepare(b.t.Context(), space.Scope{Account: "account", Agent: "agent", Session: b.session, Run: run}, name, arguments)
}

// call carries out a call of a run and applies its change.
func (b *bench) call(run, name, arguments string) (space.Result, error) {
	b.t.Helper()
	r, err := b.prepare(run, name, arguments).Run(b.t.Context())
	if err != nil || r.Change == nil {
		return r.Value, err
	}
	var out space.Result
	err = b.store.Write(b.t.Context(), store.Interactive, func(tx store.Tx) (err error) {
		out, err = r.Change.Apply(tx)
		return err
	})
	return out, err
}

func (b *bench) row() (s sessionlog.Session) {
	b.t.Helper()
	err := b.store.Read(b.t.Context(), func(tx store.Tx) (err error) {
		s, err = sessionlog.Get(tx, b.session)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func TestAMissReturnsTheContractAndDoesNothing(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		for _, c := range [][2]string{
			{"read", ""}, {"read", "null"}, {"read", `{"address":`}, {"read", `{"address":1}`}, {"read", `{"address":"~/memory","x":1}`},
			{"write", `{"content":"x"}`}, {"plan", ""}, {"plan", `{"steps":[{"id":"a"}]}`}, {"plan", `{"steps":[{"label":"a","status":"open"}]}`},
			{"plan", `{"steps":[{"label":"a","resolvedBy":"runtime"}]}`}, {"plan", `{"steps":[],"ownerRunId":"r"}`},
			{"plan", `{"steps":[],"settledAt":1}`}, {"status", `{"title":1}`}, {"status", `{"titel":"x"}`},
		} {
			out, err := b.call("run", c[0], c[1])
			contract, _ := out["contract"].(string)
			if err != nil || !strings.HasPrefix(contract, "# "+c[0]+"\n") || out["validationErrors"] == nil {
				t.Errorf("%s %s = %v, %v", c[0], c[1], out, err)
			}
		}
		if s := b.row(); s.Plan != nil || s.Title != "" || s.Description != "" {
			t.Errorf("the session is %+v", s)
		}
	})
}

func TestANameOutsideTheSetReachesNothing(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		for _, name := range []string{"", "bash", "Read", "read ", "delegate", "../read"} {
			_, err := b.call("run", name, `{"address":"~/memory/"}`)
			if fault.CodeOf(err) != fault.NotFound {
				t.Errorf("%q: %v", name, err)
			}
		}
	})
}

func TestContractsStandInTheOrderTheyWereGiven(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		var names []string
		for _, d := range b.set.Documents() {
			names = append(names, d.Name)
			if !json.Valid(d.Input) || d.Summary == "" || d.Description == "" {
				t.Errorf("%s is %+v", d.Name, d)
			}
		}
		if diff := cmp.Diff([]string{"read", "write", "call", "plan", "status"}, names); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(b.set.Documents()[0].Description, "`~/memory/<path>`") {
			t.Error("read does not name the addresses")
		}
	})
}

func TestReadAndWriteReachTheSpace(t *testing.T) {
	each(t, func(t *testing.T, b *bench) {
		if out, err := b.call("run", "write", `{"address":"~/memory/a.md","content":"x"}`); err != nil || out["size"] != int64(1) {
			t.Errorf("write = %v, %v", out, err)
		}
		if out, err := b.call("run", "read", `{"address":"~/memory/a.md"}`); err != nil || out["content"] != "x" {
			t.Errorf("read = %v, %v", out, err)
		}
		if _, err := b.call("run", "read", `{"address":"nowhere"}`); fault.CodeOf(err) != fault.ValidationFailed {
			t.Errorf("read of nothing = %v", err)
		}
		read, write := b.prepare("run", "read", `{"address":"~/memory/"}`), b.prepare("run", "write", `{"address":"~/memory/a","content":""}`)
		if read.Effect != tooldoc.Pure || write.Effect != tooldoc.Idempotent || write.Silent {
			t.Errorf("the classes are %s and %s", read.Effect, write.Effect)
		}
	})
}
