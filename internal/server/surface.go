package server

import (
	"context"
	"slices"

	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/callable/documents"
	"github.com/loam-agents/loam/internal/callable/mcptools"
	"github.com/loam-agents/loam/internal/callable/searchtools"
	"github.com/loam-agents/loam/internal/callable/websearch"
	"github.com/loam-agents/loam/internal/govern"
	"github.com/loam-agents/loam/internal/notify"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/space/activity"
	"github.com/loam-agents/loam/internal/space/attachment"
	"github.com/loam-agents/loam/internal/space/hm"
	"github.com/loam-agents/loam/internal/space/ipfs"
	spacememory "github.com/loam-agents/loam/internal/space/memory"
	"github.com/loam-agents/loam/internal/space/page"
	"github.com/loam-agents/loam/internal/space/run"
	"github.com/loam-agents/loam/internal/space/self"
	"github.com/loam-agents/loam/internal/space/thread"
	spacetools "github.com/loam-agents/loam/internal/space/tools"
	spacetriggers "github.com/loam-agents/loam/internal/space/triggers"
	"github.com/loam-agents/loam/internal/spawn"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/internal/trigger"
	"github.com/loam-agents/loam/internal/verbs"
	"github.com/loam-agents/loam/internal/web/pdftext"
)

// surface builds the Space, the tools and the verbs: the lists below are the only place that names them all.
func (s *Server) surface() (*verbs.Set, error) {
	catalog := &catalog{}
	router := space.NewRouter(s.schemes(catalog)...)
	var err error
	s.tools, err = callable.New(callable.Options{
		Store: s.store, Callables: s.callables(), Executors: s.executors(), Always: []string{searchtools.Name},
		Verbs: []string{"read", "write", "call", "delegate", "plan", "status", "continue_session", "return_result"},
	})
	if err != nil {
		return nil, err
	}
	catalog.tools = s.tools
	s.spawner = spawn.New(spawn.Options{
		Log: s.log, Queue: func() *runs.Queue { return s.queue }, Tools: s.tools, IDs: s.cfg.IDs, Levels: s.models.Levels,
		Compile: s.scripts.Compile, Opened: s.quota.SessionOpened,
	})
	catalog.verbs, err = verbs.NewSet(s.tools, s.gate(), verbs.NewRead(router), verbs.NewWrite(router), verbs.NewCall(s.tools, router, s.gate()),
		verbs.NewDelegate(s.spawner), verbs.NewPlan(s.log, s.cfg.Clock), verbs.NewStatus(s.log),
		verbs.NewContinue(s.log, router, func() *runs.Queue { return s.queue }))
	return catalog.verbs, err
}

// gate is where calls wait that a person has to approve.
func (s *Server) gate() *govern.Gate {
	return &govern.Gate{Store: s.store, IDs: s.cfg.IDs, Point: s.point}
}

// schemes are the kinds of addresses, in the order in which they are asked and shown. A scheme is one folder below internal/space.
func (s *Server) schemes(catalog *catalog) []space.Scheme {
	changed := func(tx store.Tx, scope space.Scope) {
		s.notify.AgentChanged(tx, scope.Account, scope.Agent, notify.MemoryChanged)
	}
	kept := func(tx store.Tx, scope space.Scope) error { return s.quota.Stored(tx, scope.Account) }
	published := hm.New(s.hypermedia)
	guides := []spacetools.Guide{
		{Resource: "memory", Markdown: spacememory.Guide}, {Resource: "tools", Markdown: spacetools.WriteGuide},
		{Resource: "triggers", Markdown: spacetriggers.Guide},
	}
	if s.hypermedia != nil {
		guides = append(guides, spacetools.Guide{Resource: "ipfs", Markdown: ipfs.Guide})
	}
	return []space.Scheme{
		spacememory.New(s.store, s.blobs, s.cfg.Clock, changed, kept),
		spacetools.New(spacetools.Options{Catalog: catalog, Clock: s.cfg.Clock, Changed: changed, Guides: guides}),
		spacetriggers.New(s.store, s.triggers, func(tx store.Tx, scope space.Scope) {
			s.notify.AgentChanged(tx, scope.Account, scope.Agent, trigger.ReasonUpdated)
		}),
		self.New(s.store, func() []string { return s.tools.Names() }),
		thread.New(s.store),
		run.New(s.store),
		attachment.New(s.store, s.log, pdftext.Program(s.cfg.Executable)),
		published, activity.New(s.hypermedia),
		ipfs.New(ipfs.Options{
			Gateway: s.gateway, Server: s.hypermedia, Store: s.store, Blobs: s.blobs, Log: s.log, Clock: s.cfg.Clock, Changed: changed, Kept: kept,
		}),
		page.New(s.outside.reader, published),
	}
}

// callables are the builtin tools that `call` reaches. A callable is one folder below internal/callable; one that can only fail on
// this server is left out.
func (s *Server) callables() []callable.Callable {
	return append([]callable.Callable{
		websearch.New(s.outside.search),
		searchtools.New(func(ctx context.Context, scope space.Scope) (*callable.Held, error) { return s.tools.Of(ctx, scope) }),
	}, documents.Tools(s.hypermedia)...)
}

// executors carry out tools that agents and MCP servers bring, by their kind.
func (s *Server) executors() map[tooldoc.Kind]callable.Executor {
	return map[tooldoc.Kind]callable.Executor{tooldoc.MCP: mcptools.New(s.mcp)}
}

// catalog tells ~/tools what there is. The verbs and tools stand above the Space and are filled in once they are built.
type catalog struct {
	verbs *verbs.Set
	tools *callable.Registry
}

// Documents implements tools.Catalog.
func (c *catalog) Documents(ctx context.Context, scope space.Scope) ([]tooldoc.Document, error) {
	held, err := c.tools.Of(ctx, scope)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(c.verbs.Documents())
	for _, t := range held.Tools() {
		out = append(out, t.Document)
	}
	return out, nil
}

// Reserved implements tools.Catalog.
func (c *catalog) Reserved(name string) bool { return c.tools.Reserved(name) }
