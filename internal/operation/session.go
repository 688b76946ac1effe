package operation

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/agent/collaborator"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/govern"
	"github.com/loam-agents/loam/internal/provider"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/trigger"
	"github.com/loam-agents/loam/wire"
)

func sessionOperations() []Operation {
	return []Operation{
		{Name: "CreateSession", Response: "CreateSessionResponse", Access: Chat, Effect: Mutation, Since: "0.1", handle: createSession,
			Route: &Route{Method: "POST", Path: "/agents/{agentId}/sessions", Summary: "Open a session with an agent", Status: http.StatusCreated,
				Request: wire.CreateSessionRequest{}, Reply: wire.CreateSessionResponse{}}},
		{Name: "GetSession", Response: "GetSessionResponse", Access: Read, Effect: Query, Since: "0.1", handle: getSession,
			Route: &Route{Method: "GET", Path: "/sessions/{sessionId}", Summary: "Read a session with its events",
				Note:    "All events after afterSeq; or, with beforeSeq or limit, the newest ones before beforeSeq.",
				Request: wire.GetSessionRequest{}, Reply: wire.GetSessionResponse{}}},
		{Name: "GetSessionEvent", Response: "GetSessionEventResponse", Access: Read, Effect: Query, Since: "0.2", handle: getSessionEvent,
			Route: &Route{Method: "GET", Path: "/sessions/{sessionId}/events/{seq}", Summary: "Read an event of a session",
				Request: wire.SessionEventRequest{}, Reply: wire.SessionEventResponse{}, shape: shapeSeq}},
		{Name: "ListSessions", Response: "ListSessionsResponse", Access: Read, Effect: Query, Since: "0.1", handle: listSessions,
			Route: &Route{Method: "GET", Path: "/sessions", Summary: "List sessions, newest update first",
				Request: SessionsFields{}, Reply: SessionsPage{}, shape: shapeSessions, present: presentSessions}},
		{Name: "UpdateSession", Response: "UpdateSessionResponse", Access: Write, Effect: Mutation, Since: "0.1", handle: updateSession,
			Route: &Route{Method: "PATCH", Path: "/sessions/{sessionId}", Summary: "Change a session's title, model or thoroughness",
				Note:    "A modelOverride or thoroughness of null goes back to the agent's. A thoroughness applies from the next turn that a person starts.",
				Request: UpdateSessionFields{}, Reply: wire.SessionResponse{}, Tagged: true}},
		{Name: "DeleteSession", Response: "DeleteSessionResponse", Access: Write, Effect: Mutation, Since: "0.1", handle: deleteSession,
			Route: &Route{Method: "DELETE", Path: "/sessions/{sessionId}", Summary: "Delete a session",
				Request: wire.SessionRequest{}, Reply: wire.DeleteSessionResponse{}, Tagged: true}},
		{Name: "StopSession", Response: "StopSessionResponse", Access: Chat, Effect: Mutation, Since: "0.1", handle: stopSession,
			Route: &Route{Method: "POST", Path: "/sessions/{sessionId}/stop", Summary: "Stop what a session does",
				Request: wire.SessionRequest{}, Reply: wire.StopSessionResponse{}}},
	}
}

// Pages of sessions and events.
const (
	defaultPage  = 50
	maxPage      = 200
	maxEventPage = 1000
)

func createSession(ctx context.Context, c *Call) (Result, error) {
	var req wire.CreateSessionRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	agentID, err := bounded.Name(req.AgentID, "Agent ID")
	if err != nil {
		return Result{}, err
	}
	title, err := optionalTitle(req.Title)
	if err != nil {
		return Result{}, err
	}
	request := map[string]any{"agentId": agentID}
	if req.Title != nil {
		request["title"] = title
	}
	if req.ModelOverride != nil {
		request["modelOverride"] = c.fields["modelOverride"]
	}
	var level string
	if req.Thoroughness != nil {
		if level, err = preset(*req.Thoroughness); err != nil {
			return Result{}, err
		}
		request["thoroughness"] = level
	}
	same := once{id: req.ClientRequestID, label: "Client request ID", request: request}
	return c.commit(ctx, same, func(tx store.Tx) (any, error) {
		found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		if err != nil {
			return nil, err
		}
		if req.ModelOverride != nil {
			// What a turn costs is not for a passer-by to choose.
			if found.role == collaborator.Chatter {
				return nil, fault.New(fault.PermissionDenied, wire.MsgWriteAccess)
			}
			if err := c.checkOverride(tx, found.agent.Account, req.ModelOverride); err != nil {
				return nil, err
			}
		}
		if level != "" && found.role == collaborator.Chatter {
			return nil, fault.New(fault.PermissionDenied, wire.MsgWriteAccess)
		}
		s, err := c.opts.Log.Create(tx, sessionlog.CreateParams{
			Account: found.agent.Account, Agent: agentID, CreatedBy: c.Caller.Account, Title: title, ModelOverride: req.ModelOverride, Thoroughness: level,
		})
		if err != nil {
			return nil, err
		}
		return wire.CreateSessionResponse{SessionID: s.ID}, c.opts.Quota.SessionOpened(tx, found.agent.Account)
	})
}

// optionalTitle accepts an absent or blank title as none.
func optionalTitle(title *string) (string, error) {
	if title == nil {
		return "", nil
	}
	return bounded.Name(*title, "Title")
}

func (c *Call) checkOverride(tx store.Tx, owner string, o *wire.ModelOverride) (err error) {
	if o.Provider, err = bounded.Name(o.Provider, "Model provider"); err != nil {
		return err
	}
	if o.Model, err = bounded.Name(o.Model, "Model"); err != nil {
		return err
	}
	return agent.CheckModel(tx, owner, o.Provider, o.Model, o.ReasoningLevel, provider.Has, c.opts.Models.Levels)
}

func getSession(ctx context.Context, c *Call) (Result, error) {
	var req wire.GetSessionRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	sessionID, err := bounded.Name(req.SessionID, "Session ID")
	if err != nil {
		return Result{}, err
	}
	after, err := AfterSeq(req.AfterSeq)
	if err != nil {
		return Result{}, err
	}
	var out wire.GetSessionResponse
	var tag string
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		s, _, err := c.onSession(tx, sessionID)
		if err != nil {
			return err
		}
		a, err := agent.Get(tx, s.Agent)
		if err != nil {
			return err
		}
		if tag, err = sessionTag(&s); err != nil {
			return err
		}
		out = wire.GetSessionResponse{Session: s.Info()}
		if out.Events, out.HasMoreBefore, err = eventPage(tx, &s, after, &req); err != nil {
			return err
		}
		if c.Caller.Protocol >= wire.SinceTruncated && !c.Caller.Routed && (req.BeforeSeq != nil || req.Limit != nil) {
			if err := truncate(out.Events); err != nil {
				return err
			}
		}
		if out.SystemPromptMarkdown, err = c.opts.Engine.SystemPrompt(tx, a.Definition, s); err != nil {
			return err
		}
		if out.TriggerContext, err = trigger.ContextOf(tx, s.StartedByTrigger); err != nil {
			return err
		}
		out.ContextWindow, err = c.window(tx, a, &s)
		return err
	})
	return Result{Value: out, Tag: tag}, err
}

func getSessionEvent(ctx context.Context, c *Call) (Result, error) {
	var req wire.SessionEventRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	sessionID, err := bounded.Name(req.SessionID, "Session ID")
	if err != nil {
		return Result{}, err
	}
	if req.Seq < 1 {
		return Result{}, fault.Invalid("seq must be a positive integer").With("field", "seq")
	}
	var out wire.SessionEventResponse
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		if _, _, err := c.onSession(tx, sessionID); err != nil {
			return err
		}
		out.Event, err = sessionlog.EventAt(tx, sessionID, req.Seq)
		return err
	})
	return Result{Value: out}, err
}

// AfterSeq checks the cursor of a replay: a non-negative integer, zero when absent.
func AfterSeq(seq *int64) (int64, error) {
	if seq == nil {
		return 0, nil
	}
	if *seq < 0 {
		return 0, fault.Invalid("%s", wire.MsgAfterSeq)
	}
	return *seq, nil
}

// eventPage is everything after a seq, or the newest events before one, at most `limit` of them.
func eventPage(tx store.Tx, s *sessionlog.Session, after int64, req *wire.GetSessionRequest) ([]wire.SessionEvent, bool, error) {
	if req.BeforeSeq == nil && req.Limit == nil {
		events, err := sessionlog.Events(tx, s.ID, after, 0)
		return events, false, err
	}
	limit := int64(maxEventPage)
	if req.Limit != nil {
		if *req.Limit < 1 {
			return nil, false, fault.Invalid("limit must be a positive integer")
		}
		limit = min(*req.Limit, maxEventPage)
	}
	before := s.LastSeq + 1
	if req.BeforeSeq != nil {
		before = *req.BeforeSeq
	}
	events, err := sessionlog.EventsBefore(tx, s.ID, before, limit)
	if err != nil {
		return nil, false, err
	}
	more := len(events) > 0 && events[0].Seq > after+1
	for len(events) > 0 && events[0].Seq <= after {
		events, more = events[1:], false
	}
	return events, more, nil
}

// window is the context window of the model that a new turn would use; zero when it is not known.
func (c *Call) window(tx store.Tx, a agent.Agent, s *sessionlog.Session) (int64, error) {
	name, model := a.Definition.ModelProvider, a.Definition.Model
	if o := s.ModelOverride; o != nil {
		name, model = o.Provider, o.Model
	}
	kind, ok, err := provider.Has(tx, a.Account, name)
	if err != nil || !ok {
		return 0, err
	}
	return c.opts.Models.Window(kind, model), nil
}

func listSessions(ctx context.Context, c *Call) (Result, error) {
	var req wire.ListSessionsRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	q, err := sessionQuery(&req)
	if err != nil {
		return Result{}, err
	}
	out := wire.ListSessionsResponse{}
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		if err := c.narrow(tx, &q); err != nil {
			return err
		}
		page, more, err := sessionlog.List(tx, q)
		if err != nil {
			return err
		}
		out = wire.ListSessionsResponse{Sessions: sessionInfos(page)}
		if more {
			last := page[len(page)-1]
			out.NextCursor = &wire.SessionListCursor{UpdatedBefore: last.UpdatedAt, IDBefore: last.ID}
		}
		out.Agents, err = c.agentsOf(tx, page)
		return err
	})
	return Result{Value: out}, err
}

// narrow keeps a query to what the caller may see. Without an agent or a parent these are the sessions of the own agents and of those
// the caller was invited to, not of public ones.
func (c *Call) narrow(tx store.Tx, q *sessionlog.Query) (err error) {
	var on access
	switch {
	case q.Agent == "" && q.Parent == "":
		shared, err := collaborator.With(tx, c.Caller.Account, collaborator.Accepted)
		if err != nil {
			return err
		}
		q.Account, q.Agents = c.Caller.Account, nil
		for _, row := range shared {
			q.Agents = append(q.Agents, row.Agent)
		}
		return nil
	case q.Agent != "":
		if on, err = c.onAgent(tx, q.Agent, wire.MsgAgentNotFound); err != nil {
			return err
		}
	}
	if q.Parent != "" {
		if _, on, err = c.onSession(tx, q.Parent); err != nil {
			return err
		}
	}
	q.CreatedBy = on.only(c)
	return nil
}

func sessionQuery(req *wire.ListSessionsRequest) (q sessionlog.Query, err error) {
	q.Limit = defaultPage
	if req.Limit != nil {
		if *req.Limit < 1 {
			return q, fault.Invalid("limit must be a positive integer")
		}
		q.Limit = min(*req.Limit, maxPage)
	}
	if req.AgentID != nil {
		if q.Agent, err = bounded.Name(*req.AgentID, "Agent ID"); err != nil {
			return q, err
		}
	}
	if req.ParentSessionID != nil {
		if q.Parent, err = bounded.Name(*req.ParentSessionID, "Parent session ID"); err != nil {
			return q, err
		}
	}
	q.TopLevel = req.IncludeChildren != nil && !*req.IncludeChildren
	if req.ExcludeTriggered != nil && *req.ExcludeTriggered {
		q.Without = sessionlog.Triggered
	}
	if len(req.Cursor) > 0 && string(req.Cursor) != "null" {
		var cursor *wire.SessionListCursor
		if json.Unmarshal(req.Cursor, &cursor) != nil || cursor == nil || cursor.UpdatedBefore <= 0 || cursor.IDBefore == "" {
			return q, fault.Invalid("Session cursor must be an object")
		}
		q.After = cursor
	}
	return q, nil
}

func sessionInfos(page []sessionlog.Session) []wire.SessionInfo {
	out := make([]wire.SessionInfo, len(page))
	for i := range page {
		out[i] = page[i].Info()
	}
	return out
}

// agentsOf are the agents that a page refers to, each once.
func (c *Call) agentsOf(tx store.Tx, page []sessionlog.Session) ([]wire.AgentInfo, error) {
	out, seen := []wire.AgentInfo{}, map[string]bool{}
	for i := range page {
		agentID := page[i].Agent
		if seen[agentID] {
			continue
		}
		seen[agentID] = true
		found, err := c.onAgent(tx, agentID, wire.MsgAgentNotFound)
		if err != nil {
			return nil, err
		}
		info, err := c.info(tx, found)
		if err != nil {
			return nil, err
		}
		out = append(out, info)
	}
	return out, nil
}

func (c *Call) sessionUnchanged(s *sessionlog.Session) error {
	tag, err := sessionTag(s)
	if err != nil {
		return err
	}
	return c.unchanged(tag)
}

func (c *Call) sessionID() (string, error) {
	var req wire.SessionRequest
	if err := c.bind(&req); err != nil {
		return "", err
	}
	return bounded.Name(req.SessionID, "Session ID")
}

func deleteSession(ctx context.Context, c *Call) (Result, error) {
	sessionID, err := c.sessionID()
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{session: sessionID}, func(tx store.Tx) (any, error) {
		s, _, err := c.onSession(tx, sessionID)
		if err != nil {
			return nil, err
		}
		if err := c.sessionUnchanged(&s); err != nil {
			return nil, err
		}
		if _, err := c.opts.Runs.CancelSession(tx, sessionID); err != nil {
			return nil, err
		}
		if err := runs.Detach(tx, sessionID, ""); err != nil {
			return nil, err
		}
		if err := trigger.ForgetSession(tx, sessionID); err != nil {
			return nil, err
		}
		if err := govern.DeleteSession(tx, sessionID); err != nil {
			return nil, err
		}
		if err := c.opts.Log.Delete(tx, sessionID); err != nil {
			return nil, err
		}
		return wire.DeleteSessionResponse{SessionID: sessionID, AgentID: s.Agent}, nil
	})
}

func stopSession(ctx context.Context, c *Call) (Result, error) {
	sessionID, err := c.sessionID()
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{session: sessionID}, func(tx store.Tx) (any, error) {
		if _, _, err := c.onSession(tx, sessionID); err != nil {
			return nil, err
		}
		stopped, err := c.opts.Runs.CancelSession(tx, sessionID)
		return wire.StopSessionResponse{SessionID: sessionID, Stopped: stopped}, err
	})
}
