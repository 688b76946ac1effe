package operation

import (
	"context"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func findRuns(ctx context.Context, c *Call) (Result, error) {
	var req wire.FindRunsRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	q, err := runQuery(&req)
	if err != nil {
		return Result{}, err
	}
	out := wire.FindRunsResponse{}
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		out = wire.FindRunsResponse{Runs: []wire.RunInfo{}}
		on, err := c.seesAll(tx, &q)
		if err != nil {
			return err
		}
		page, more, err := runs.Find(tx, q)
		if err != nil {
			return err
		}
		for i := range page {
			if sees, err := c.seesRun(tx, &page[i], on); err != nil || !sees {
				if err != nil {
					return err
				}
				continue
			}
			info, err := runInfo(tx, &page[i])
			if err != nil {
				return err
			}
			out.Runs = append(out.Runs, info)
		}
		if more {
			last := page[len(page)-1]
			out.NextCursor, err = cursorText(runs.Place{CreatedAt: last.CreatedAt, ID: last.ID})
		}
		return err
	})
	return Result{Value: out}, err
}

// seesAll refuses a filter that names something the caller may not see, as if it did not exist, and looks among the runs of the
// account whose it is: the caller's own, when nothing is named. Of an agent with public chat only some are seen.
func (c *Call) seesAll(tx store.Tx, q *runs.Query) (on access, err error) {
	q.Account = c.Caller.Account
	if q.Root != "" {
		if _, on, err = c.onRun(tx, q.Root); err != nil {
			return on, err
		}
	}
	if q.Session != "" {
		if _, on, err = c.onSession(tx, q.Session); err != nil {
			return on, err
		}
	}
	if q.Agent != "" {
		if on, err = c.onAgent(tx, q.Agent, wire.MsgAgentNotFound); err != nil {
			return on, err
		}
	}
	if on.role != "" {
		q.Account = on.agent.Account
	}
	return on, nil
}

func runQuery(req *wire.FindRunsRequest) (q runs.Query, err error) {
	if q.Limit, err = pageLimit(req.Limit); err != nil {
		return q, err
	}
	for _, f := range []struct {
		value *string
		label string
		into  *string
	}{
		{req.RootRunID, "Root run ID", &q.Root}, {req.SessionID, "Session ID", &q.Session}, {req.AgentID, "Agent ID", &q.Agent},
		{req.Status, "Status", &q.Status},
	} {
		if f.value == nil {
			continue
		}
		if *f.into, err = bounded.Name(*f.value, f.label); err != nil {
			return q, err
		}
	}
	if req.Cursor != nil {
		q.After = &runs.Place{}
		err = parseCursor(*req.Cursor, q.After)
	}
	return q, err
}
