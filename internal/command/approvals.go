package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/wire"
)

type approvalsCommand struct {
	List    approvalsList    `cmd:"" default:"withargs" help:"List calls that wait for you, the newest first."`
	Show    approvalsShow    `cmd:"" help:"Print an approval with what will be called."`
	Approve approvalsApprove `cmd:"" help:"Let a call be made."`
	Reject  approvalsReject  `cmd:"" help:"Refuse a call; its agent is told."`
}

type approvalsList struct {
	connection
	Agent  string `help:"Only those of this agent (name or id)." placeholder:"AGENT"`
	Status string `help:"Those in this state: pending, approved, rejected, canceled or all." default:"pending" placeholder:"STATUS"`
	JSON   bool   `help:"Print JSON."`
}

// Run lists approvals.
func (c *approvalsList) Run(ctx context.Context, a *app) error {
	if err := oneOf("--status", c.Status, []string{"pending", "approved", "rejected", "canceled", "all"}); err != nil {
		return err
	}
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	filter := map[string]any{}
	if c.Agent != "" {
		agent, err := findAgent(ctx, cl, c.Agent)
		if err != nil {
			return err
		}
		filter["agentId"] = agent.ID
	}
	if c.Status != "all" {
		filter["status"] = c.Status
	}
	list, err := listApprovals(ctx, cl, filter)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(list)
	}
	var rows [][]string
	for _, p := range list {
		rows = append(rows, []string{p.ID, p.Status, p.Tool, shortened(string(p.Arguments)), when(p.CreatedAt)})
	}
	return a.table("Nothing waits for you.", []string{"APPROVAL", "STATUS", "TOOL", "ARGUMENTS", "ASKED"}, rows)
}

// shortened is the beginning of a text that fits into a table.
func shortened(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

func listApprovals(ctx context.Context, cl *client.Client, filter map[string]any) ([]wire.ApprovalInfo, error) {
	return everyPageOf(ctx, cl, "ListApprovals", filter, func(r wire.ListApprovalsResponse) ([]wire.ApprovalInfo, string) {
		return r.Approvals, r.NextCursor
	})
}

// findApproval takes an id, or the beginning of the id of one that is pending.
func findApproval(ctx context.Context, cl *client.Client, id string) (wire.ApprovalInfo, error) {
	reply, err := client.Call[wire.ApprovalResponse](ctx, cl, "GetApproval", wire.ApprovalRequest{ApprovalID: id})
	if err == nil {
		return reply.Approval, nil
	}
	pending, listed := listApprovals(ctx, cl, map[string]any{"status": "pending"})
	if listed != nil {
		return wire.ApprovalInfo{}, listed
	}
	var found []wire.ApprovalInfo
	for _, p := range pending {
		if strings.HasPrefix(p.ID, id) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return wire.ApprovalInfo{}, err
	case 1:
		return found[0], nil
	}
	return wire.ApprovalInfo{}, exitcode.With(exitcode.Usage, fmt.Errorf("%d pending approvals begin with %q: write more of the id", len(found), id))
}

// onApproval opens a client and finds an approval.
func (c *connection) onApproval(ctx context.Context, a *app, id string) (*client.Client, wire.ApprovalInfo, error) {
	cl, err := c.open(ctx, a)
	if err != nil {
		return nil, wire.ApprovalInfo{}, err
	}
	p, err := findApproval(ctx, cl, id)
	return cl, p, err
}

type approvalsShow struct {
	connection
	ID   string `arg:"" name:"approval" help:"Id, or its beginning."`
	JSON bool   `help:"Print JSON."`
}

// Run prints an approval.
func (c *approvalsShow) Run(ctx context.Context, a *app) error {
	_, p, err := c.onApproval(ctx, a, c.ID)
	if err != nil {
		return err
	}
	return a.printApproval(p, c.JSON)
}

func (a *app) printApproval(p wire.ApprovalInfo, asJSON bool) error {
	if asJSON {
		return a.printJSON(p)
	}
	doubt := ""
	if p.InDoubt {
		doubt = "it was begun once when the server stopped, and may have taken effect"
	}
	decided := ""
	if p.DecidedAt > 0 {
		decided = when(p.DecidedAt)
	}
	return a.pairs([][2]string{
		{"approval", p.ID}, {"status", p.Status}, {"tool", p.Tool}, {"arguments", string(p.Arguments)}, {"careful", doubt}, {"agent", p.AgentID},
		{"session", p.SessionID}, {"run", p.RunID}, {"asked", when(p.CreatedAt)}, {"decided", decided}, {"by", p.DecidedBy}, {"note", p.Note},
	})
}

type approvalsApprove struct{ decision }

// Run approves a call.
func (c *approvalsApprove) Run(ctx context.Context, a *app) error { return c.decide(ctx, a, true) }

type approvalsReject struct{ decision }

// Run rejects a call.
func (c *approvalsReject) Run(ctx context.Context, a *app) error { return c.decide(ctx, a, false) }

// decision is what both answers take.
type decision struct {
	connection
	ID   string `arg:"" name:"approval" help:"Id, or its beginning."`
	Note string `help:"What the agent is told when the answer is no."`
	JSON bool   `help:"Print JSON."`
}

func (c *decision) decide(ctx context.Context, a *app, approve bool) error {
	cl, p, err := c.onApproval(ctx, a, c.ID)
	if err != nil {
		return err
	}
	request := wire.DecideApprovalRequest{ApprovalID: p.ID, Approve: approve}
	if c.Note != "" {
		request.Note = &c.Note
	}
	reply, err := client.Call[wire.ApprovalResponse](ctx, cl, "DecideApproval", request)
	if err != nil {
		return err
	}
	return a.printApproval(reply.Approval, c.JSON)
}
