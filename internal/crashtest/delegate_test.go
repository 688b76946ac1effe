package crashtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/wire"
)

// grow teaches the model a tree: whoever is told "Grow NODE." delegates its branches, and answers when they have grown. A leaf answers at
// once. The answers depend on the conversation alone.
func (r *rig) grow(node string, branches ...int) {
	turn := func(match scripted.Match, steps ...scripted.Step) {
		r.model.Push(scripted.Turn{Match: match, Repeat: true, Steps: steps, Usage: scriptUsage})
	}
	if len(branches) == 0 {
		turn(scripted.Match{User: "Grow " + node + "."}, text("Leaf "), text(node+" has grown."))
		return
	}
	steps := []scripted.Step{text("I delegate.")}
	for i := range branches[0] {
		child := fmt.Sprintf("%s-%d", node, i)
		r.grow(child, branches[1:]...)
		steps = append(steps, calls("delegate", fmt.Sprintf(`{"title":"a branch","brief":"Grow %s."}`, child)))
	}
	turn(scripted.Match{User: "Grow " + node + "."}, steps...)
	turn(scripted.Match{Result: node + "-0 has grown."}, text("Branch "+node+" has grown."))
}

// plant sends the message that grows a tree, follows its root until it has ended, whatever happens to the process, and returns the tree.
func (r *rig) plant(session, node string) []wire.RunInfo {
	r.t.Helper()
	m := must[message](r.t)(r.sign(message{session: session, text: "Grow " + node + "."}))
	if _, err := r.deliver(m); err != nil {
		r.t.Fatal(err)
	}
	for r.ctx.Err() == nil {
		r.mu.Lock()
		p := r.process
		r.mu.Unlock()
		ctx, cancel := context.WithCancel(r.ctx)
		stop := context.AfterFunc(r.ctx, cancel)
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			select {
			case <-p.Exited():
				cancel()
			case <-ctx.Done():
			}
		}()
		tree := r.follow(ctx, session)
		stop()
		cancel()
		<-watched
		if tree != nil {
			return tree
		}
		if err := r.replace(p); err != nil {
			r.t.Fatal(err)
		}
	}
	r.t.Fatal("the tree has not grown")
	return nil
}

// follow returns the tree of a session's root once that has ended, and nil when the process went away.
func (r *rig) follow(ctx context.Context, session string) []wire.RunInfo {
	r.mu.Lock()
	c := r.client
	r.mu.Unlock()
	for f, err := range c.Subscribe(ctx, wire.KeySession+session, 0) {
		if err != nil || ctx.Err() != nil {
			return nil
		}
		if f.Kind != wire.FrameSubscribed && f.Kind != wire.FrameAppend && f.Kind != wire.FrameChange {
			continue
		}
		roots, err := listRuns(ctx, r, map[string]any{"sessionId": session})
		if err != nil || len(roots) == 0 || roots[0].FinishedAt == 0 {
			continue
		}
		if tree, err := listRuns(ctx, r, map[string]any{"rootRunId": roots[0].ID, "limit": 200}); err == nil {
			return tree
		}
	}
	return nil
}

func listRuns(ctx context.Context, r *rig, query map[string]any) ([]wire.RunInfo, error) {
	r.mu.Lock()
	c := r.client
	r.mu.Unlock()
	out, err := client.Call[wire.ListRunsResponse](ctx, c, "ListRuns", query)
	return out.Runs, err
}

// grown checks a tree: every run has succeeded, every call started one child and has one result, every child says what it did, once.
func (r *rig) grown(session, node string, tree []wire.RunInfo, children int) {
	r.t.Helper()
	if len(tree) != children+1 {
		r.t.Errorf("the tree has %d children, want %d", len(tree)-1, children)
	}
	started := map[string]bool{}
	for _, run := range tree {
		if run.Status != "succeeded" {
			r.t.Errorf("run %s is %s: %+v", run.ID, run.Status, run.Error)
		}
		if begun := run.ParentRunID + "/" + run.ParentToolCallID; started[begun] {
			r.t.Errorf("call %s has started two children", begun)
		} else {
			started[begun] = true
		}
		events := call[wire.GetSessionResponse](r, "GetSession", map[string]any{"sessionId": run.SessionID}).Events
		decoded := make([]event, len(events))
		said := 0
		for i, e := range events {
			decoded[i] = decode(r.t, e)
			if strings.HasSuffix(decoded[i].Content, "has grown.") {
				said++
			}
			if decoded[i].Error != "" {
				r.t.Errorf("a call of %s has the result %s", run.Title, decoded[i].Error)
			}
		}
		r.auditCalls(decoded)
		if said != 1 {
			r.t.Errorf("run %s says %d times that it has grown", run.ID, said)
		}
	}
	last := call[wire.GetSessionResponse](r, "GetSession", map[string]any{"sessionId": session})
	if e := decode(r.t, last.Events[len(last.Events)-1]); e.Content != "Branch "+node+" has grown." || last.Session.Status != "idle" {
		r.t.Errorf("the session is %s and ends with %+v", last.Session.Status, e)
	}
	if u := tree[0].Usage; u == nil || u.Children == nil || u.Children.Runs != int64(children) {
		r.t.Errorf("the root counts %+v", u)
	}
}

func tree(r *rig, point string) {
	r.grow("oak", 2)
	r.start(point)
	r.found()
	session := r.session()
	r.grown(session, "oak", r.plant(session, "oak"), 2)
}

// announced: a call that is announced before others act is begun after a crash, not given up: whether its child was started is known.
func announced(r *rig, point string) {
	r.model.Push(scripted.Turn{Match: scripted.Match{User: "Grow elm."}, Repeat: true, Steps: []scripted.Step{
		calls("write", `{"address":"~/memory/elm.md","content":"x"}`), calls("delegate", `{"title":"a branch","brief":"Grow elm-0."}`),
		calls("delegate", `{"title":"a branch","brief":"Grow elm-1."}`),
	}})
	r.grow("elm-0")
	r.grow("elm-1")
	r.model.Push(scripted.Turn{Match: scripted.Match{Result: "elm-0 has grown."}, Repeat: true, Steps: []scripted.Step{text("Branch elm has grown.")}})
	r.start(point)
	r.found()
	tree := r.plant(r.session(), "elm")
	if len(tree) != 3 {
		r.t.Fatalf("the tree is %+v", tree)
	}
	for _, run := range tree {
		if run.Status != "succeeded" {
			r.t.Errorf("run %s is %s: %+v", run.Title, run.Status, run.Error)
		}
	}
}

// Three levels and thirty children, while the process dies again and again.
func TestATreeOfChildrenSurvivesKillsAtRandomMoments(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		// A run that was taken over more than ten times is given up.
		kills := 4
		if full() {
			kills = 10
		}
		seed := number(t, seedVariable, 1)
		r.grow("ash", 3, 3, 2)
		r.start("")
		r.found()
		session := r.session()
		calm := r.killing(rand.New(rand.NewPCG(seed, 30)), kills)
		tree := r.plant(session, "ash")
		calm()
		r.revive()
		r.grown(session, "ash", tree, 30)
		t.Logf("the process died %d times (%s=%d)", r.crashes, seedVariable, seed)
	})
}
