package server

import (
	"html/template"
	"net/http"
	"os"
	"slices"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/callable/mcptools"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/mcp"
	"github.com/loam-agents/loam/internal/notify"
	"github.com/loam-agents/loam/internal/store"
)

// mcpCallback is where a person comes back to from the authorization server of an MCP server.
const mcpCallback = "/mcp/callback"

// openMcp makes the client of MCP servers. Nothing is connected before somebody needs it.
func (s *Server) openMcp() {
	cfg := &s.cfg
	s.mcp = mcp.New(mcp.Options{
		Store: s.store, Vault: s.vault, Egress: s.egress, Clock: cfg.Clock, Logger: cfg.Logger, TrustAccounts: cfg.trustAccounts(),
		Found:    s.equipAll,
		Commands: cfg.McpCommands, Path: os.Getenv("PATH"), Redirect: func() string { return s.origin.Origin() + mcpCallback },
	})
}

// equip gives an agent the tools of the MCP servers that its definition names.
func (s *Server) equip(tx store.Tx, a agent.Agent) error {
	changed, err := mcptools.Equip(tx, a.Account, a.ID, a.Definition.McpServers, clock.Millis(s.cfg.Clock))
	if err == nil && changed {
		s.notify.AgentChanged(tx, a.Account, a.ID, notify.ToolsChanged)
	}
	return err
}

// equipAll gives the agents of an account that use a server what it offers now.
func (s *Server) equipAll(tx store.Tx, server *mcp.Server) error {
	agents, err := agent.OwnedBy(tx, server.Account)
	if err != nil {
		return err
	}
	for _, a := range agents {
		if slices.Contains(a.Definition.McpServers, server.Name) {
			if err := s.equip(tx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

var mcpReturned = template.Must(template.New("returned").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Loam</title>
<body><main><h1>{{.Title}}</h1><p>{{.Text}}</p></main></body></html>
`))

// mcpReturn finishes a sign-in to an MCP server. The state in the address, which only the person who began it was given, is what proves
// that it may; no cookie is looked at.
func (s *Server) mcpReturn(w http.ResponseWriter, r *http.Request) {
	if err := s.origin.CheckHost(r); err != nil {
		f := fault.From(err)
		http.Error(w, f.Message, f.Status())
		return
	}
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "Method not allowed", http.StatusMethodNotAllowed)
		return
	}
	q := r.URL.Query()
	server, err := s.mcp.FinishLogin(r.Context(), q.Get("state"), q.Get("code"), q.Get("iss"))
	view := struct{ Title, Text string }{"Signed in", "The tools of " + server.Name + " are ready. You can close this window."}
	status := http.StatusOK
	switch {
	case err != nil:
		f := fault.From(err)
		if f.Code == fault.Internal {
			s.cfg.Logger.ErrorContext(r.Context(), "finish a sign-in to an MCP server", "error", err)
		}
		view.Title, view.Text, status = "Not signed in", f.Message, f.Status()
	case server.State != mcp.StateOK:
		view.Text = "But " + server.Name + " did not list its tools: " + server.Error
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	w.WriteHeader(status)
	_ = mcpReturned.Execute(w, view) // The person may be gone.
}
