package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/chat"
	"github.com/loam-agents/loam/wire"
)

type sessionsCommand struct {
	List   sessionsList   `cmd:"" default:"withargs" help:"List conversations, the latest first."`
	Show   sessionsShow   `cmd:"" help:"Print a conversation."`
	Delete sessionsDelete `cmd:"" help:"Delete a conversation and its files."`
}

type sessionsList struct {
	connection
	Agent string `help:"Only those of this agent (name or id)." placeholder:"AGENT"`
	Limit int64  `help:"How many at most." default:"30"`
	JSON  bool   `help:"Print JSON."`
}

// Run lists sessions.
func (c *sessionsList) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	request := wire.ListSessionsRequest{Limit: &c.Limit}
	if c.Agent != "" {
		agent, err := findAgent(ctx, cl, c.Agent)
		if err != nil {
			return err
		}
		request.AgentID = &agent.ID
	}
	reply, err := client.Call[wire.ListSessionsResponse](ctx, cl, "ListSessions", request)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(reply.Sessions)
	}
	names := map[string]string{}
	for _, agent := range reply.Agents {
		names[agent.ID] = agent.Definition.Name
	}
	var rows [][]string
	for _, s := range reply.Sessions {
		rows = append(rows, []string{s.ID, names[s.AgentID], s.Status, when(s.UpdatedAt), s.Title})
	}
	return a.table("There are no conversations yet. `loam chat` starts one.", []string{"SESSION", "AGENT", "STATUS", "UPDATED", "TITLE"}, rows)
}

type sessionsShow struct {
	connection
	Session string `arg:"" help:"Id of the conversation, or its beginning."`
	JSON    bool   `help:"Print the session and its events as JSON."`
}

// Run prints a transcript.
func (c *sessionsShow) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	id, err := findSession(ctx, cl, c.Session)
	if err != nil {
		return err
	}
	after := int64(0)
	reply, err := client.Call[wire.GetSessionResponse](ctx, cl, "GetSession", wire.GetSessionRequest{SessionID: id, AfterSeq: &after})
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(struct {
			Session wire.SessionInfo    `json:"session"`
			Events  []wire.SessionEvent `json:"events"`
		}{reply.Session, reply.Events})
	}
	p := chat.NewPrinter(a.out, chat.Style{Color: a.color(a.out)})
	p.Transcript(reply.Session, reply.Events)
	return nil
}

type sessionsDelete struct {
	connection
	sure
	Session string `arg:"" help:"Id of the conversation, or its beginning."`
}

// Run deletes a session.
func (c *sessionsDelete) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	id, err := findSession(ctx, cl, c.Session)
	if err != nil {
		return err
	}
	if err := c.confirm(a, "the conversation "+id+" and its files"); err != nil {
		return err
	}
	if _, err := client.Call[wire.DeleteSessionResponse](ctx, cl, "DeleteSession", wire.SessionRequest{SessionID: id}); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, "deleted "+id)
	return err
}

const (
	// wholeID is the length of an id, which needs no search.
	wholeID = 36
	// searched is how many of the latest sessions the beginning of an id is looked for in.
	searched = 500
)

// findSession takes the id of a session or a beginning of it that only one has.
func findSession(ctx context.Context, cl *client.Client, id string) (string, error) {
	if len(id) >= wholeID {
		return id, nil
	}
	limit := int64(searched)
	reply, err := client.Call[wire.ListSessionsResponse](ctx, cl, "ListSessions", wire.ListSessionsRequest{Limit: &limit})
	if err != nil {
		return "", err
	}
	var found []string
	for _, s := range reply.Sessions {
		if strings.HasPrefix(s.ID, id) {
			found = append(found, s.ID)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("there is no conversation %q; `loam sessions` lists them", id)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%d conversations begin with %q; give more of the id", len(found), id)
}

// latestSession is the session of an agent that changed last; ok is false when it has none.
func latestSession(ctx context.Context, cl *client.Client, agentID string) (s wire.SessionInfo, ok bool, err error) {
	one, children := int64(1), false
	reply, err := client.Call[wire.ListSessionsResponse](ctx, cl, "ListSessions", wire.ListSessionsRequest{
		AgentID: &agentID, Limit: &one, IncludeChildren: &children,
	})
	if err != nil || len(reply.Sessions) == 0 {
		return wire.SessionInfo{}, false, err
	}
	return reply.Sessions[0], true, nil
}

// jsonLine writes one value on one line.
func (a *app) jsonLine(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
