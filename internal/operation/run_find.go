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
		if err := c.seesAll(tx, &q); err != nil {
			return err
		}
		q.Account = c.Caller.Account
		page, more, err := runs.Find(tx, q)
		if err != nil {
			return err
		}
		for i := range page {
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

// seesAll refuses a filter that names something the caller may not see, as if it did not exist.
func (c *Call) seesAll(tx store.Tx, q *runs.Query) error {
	if q.Root != "" {
		if _, _, err := c.onRun(tx, q.Root); err != nil {
			return err
		}
	}
	if q.Session != "" {
		if _, _, err := c.onSession(tx, q.Session); err != nil {
			return err
		}
	}
	if q.Agent != "" {
		if _, err := c.onAgent(tx, q.Agent, wire.MsgAgentNotFound); err != nil {
			return err
		}
	}
	return nil
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
