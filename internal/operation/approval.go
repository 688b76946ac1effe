package operation

import (
	"context"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/govern"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func approvalOperations() []Operation {
	return []Operation{
		{Name: "ListApprovals", Response: "ListApprovalsResponse", Access: Read, Effect: Query, Since: "0.3", handle: listApprovals,
			Route: &Route{Method: "GET", Path: "/approvals", Summary: "List calls that wait for a person, and those that were decided, newest first",
				Request: wire.ListApprovalsRequest{}, Reply: wire.ListApprovalsResponse{}}},
		{Name: "GetApproval", Response: "ApprovalResponse", Access: Read, Effect: Query, Since: "0.3", handle: getApproval,
			Route: &Route{Method: "GET", Path: "/approvals/{approvalId}", Summary: "Read an approval", Request: wire.ApprovalRequest{}, Reply: wire.ApprovalResponse{}}},
		// A program that acts for a person must not be able to say yes in their place.
		{Name: "DecideApproval", Response: "ApprovalResponse", Access: Owner, Effect: Mutation, Since: "0.3", Scope: account.Admin, handle: decideApproval,
			Route: &Route{Method: "POST", Path: "/approvals/{approvalId}/decide", Summary: "Approve or reject a call",
				Note:    "The run goes on once all that it waits for is decided. A second decision is a conflict.",
				Request: wire.DecideApprovalRequest{}, Reply: wire.ApprovalResponse{}}},
	}
}

func listApprovals(ctx context.Context, c *Call) (Result, error) {
	var req wire.ListApprovalsRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	q, err := approvalQuery(&req)
	if err != nil {
		return Result{}, err
	}
	out := wire.ListApprovalsResponse{}
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		out = wire.ListApprovalsResponse{Approvals: []wire.ApprovalInfo{}}
		if err := c.seesApprovals(tx, &q); err != nil {
			return err
		}
		page, more, err := govern.List(tx, q)
		if err != nil {
			return err
		}
		for i := range page {
			out.Approvals = append(out.Approvals, page[i].Info())
		}
		out.NextCursor, err = next(page, more, func(a *govern.Approval) store.Place { return store.Place{At: a.CreatedAt, ID: a.ID} })
		return err
	})
	return Result{Value: out}, err
}

func approvalQuery(req *wire.ListApprovalsRequest) (q govern.Query, err error) {
	if q.Page.Limit, err = pageLimit(req.Limit); err != nil {
		return q, err
	}
	for _, f := range []struct {
		value *string
		label string
		into  *string
	}{{req.AgentID, "Agent ID", &q.Agent}, {req.SessionID, "Session ID", &q.Session}, {req.RunID, "Run ID", &q.Run}, {req.Status, "Status", &q.Status}} {
		if f.value == nil {
			continue
		}
		if *f.into, err = bounded.Name(*f.value, f.label); err != nil {
			return q, err
		}
	}
	switch govern.Status(q.Status) {
	case "", govern.Pending, govern.Approved, govern.Rejected, govern.Canceled:
	default:
		return q, fault.Invalid("Status is invalid: pending, approved, rejected or canceled").With("field", "status")
	}
	if req.Cursor != nil {
		q.Page.After = &store.Place{}
		err = parseCursor(*req.Cursor, q.Page.After)
	}
	return q, err
}

// seesApprovals refuses a filter that names something the caller may not see, and looks among the approvals of the account whose it is.
// Of an agent with public chat only those of a session or a run that the caller names are seen.
func (c *Call) seesApprovals(tx store.Tx, q *govern.Query) error {
	q.Account = c.Caller.Account
	var on access
	var err error
	if q.Agent != "" {
		if on, err = c.onAgent(tx, q.Agent, wire.MsgAgentNotFound); err != nil {
			return err
		}
		if on.only(c) != "" && q.Session == "" && q.Run == "" {
			return fault.New(fault.PermissionDenied, "Name a session or a run of yours: what others are asked is not shown")
		}
	}
	if q.Session != "" {
		if _, on, err = c.onSession(tx, q.Session); err != nil {
			return err
		}
	}
	if q.Run != "" {
		if _, on, err = c.onRun(tx, q.Run); err != nil {
			return err
		}
	}
	if on.role != "" {
		q.Account = on.agent.Account
	}
	return nil
}

// onApproval resolves an approval as its run is resolved.
func (c *Call) onApproval(tx store.Tx, approvalID string) (govern.Approval, error) {
	a, err := govern.Get(tx, approvalID)
	if err != nil {
		return a, err
	}
	if _, _, err := c.onRun(tx, a.Run); err != nil {
		if fault.CodeOf(err) == fault.NotFound {
			return a, fault.Missing("%s", wire.MsgApprovalNotFound)
		}
		return a, err
	}
	return a, nil
}

func getApproval(ctx context.Context, c *Call) (Result, error) {
	var req wire.ApprovalRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	approvalID, err := bounded.Name(req.ApprovalID, "Approval ID")
	if err != nil {
		return Result{}, err
	}
	var out wire.ApprovalResponse
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		a, err := c.onApproval(tx, approvalID)
		out.Approval = a.Info()
		return err
	})
	return Result{Value: out}, err
}

func decideApproval(ctx context.Context, c *Call) (Result, error) {
	var req wire.DecideApprovalRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	approvalID, err := bounded.Name(req.ApprovalID, "Approval ID")
	if err != nil {
		return Result{}, err
	}
	if _, said := c.fields["approve"].(bool); !said {
		return Result{}, fault.Invalid("approve must be true or false").With("field", "approve")
	}
	d := govern.Decision{Approve: req.Approve, By: c.Caller.Account}
	if req.Note != nil {
		if d.Note, err = bounded.Text(*req.Note, "Note", govern.MaxNote); err != nil {
			return Result{}, err
		}
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		if _, err := c.onApproval(tx, approvalID); err != nil {
			return nil, err
		}
		a, err := govern.Decide(tx, c.opts.Runs, approvalID, d)
		tx.AfterCommit(func() { c.opts.Point(govern.PointDecided) })
		return wire.ApprovalResponse{Approval: a.Info()}, err
	})
}
