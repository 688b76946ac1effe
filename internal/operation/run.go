package operation

import (
	"context"
	"encoding/json"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

func runOperations() []Operation {
	return []Operation{
		{Name: "GetRun", Response: "GetRunResponse", Access: Read, Effect: Query, Since: "0.1", handle: getRun,
			Route: &Route{Method: "GET", Path: "/runs/{runId}", Summary: "Read a run", Request: wire.RunRequest{}, Reply: wire.RunResponse{}}},
		{Name: "ListRuns", Response: "ListRunsResponse", Access: Read, Effect: Query, Since: "0.1", handle: listRuns,
			Unrouted: "FindRuns does the same with pages and without a filter"},
		{Name: "CancelRun", Response: "CancelRunResponse", Access: Write, Effect: Mutation, Since: "0.1", handle: cancelRun,
			Route: &Route{Method: "POST", Path: "/runs/{runId}/cancel", Summary: "Cancel a run and what it started",
				Request: wire.RunRequest{}, Reply: wire.CancelRunResponse{}}},
		{Name: "SignalRun", Response: "SignalRunResponse", Access: Write, Effect: Mutation, Since: "0.2", handle: signalRun,
			Route: &Route{Method: "POST", Path: "/runs/{runId}/signal", Summary: "Give a run a signal that it waits for",
				Note:    "The first wait that takes the signal is settled. Approvals and budgets are not settled by signals.",
				Request: wire.SignalRunRequest{}, Reply: wire.SignalRunResponse{}}},
		{Name: "GetRunJournal", Response: "GetRunJournalResponse", Access: Read, Effect: Query, Since: "0.2", handle: getRunJournal,
			Route: &Route{Method: "GET", Path: "/runs/{runId}/journal", Summary: "Read the journal of a run",
				Note:    "Turns keep none: what they do stands in the log of their session.",
				Request: wire.RunJournalRequest{}, Reply: wire.RunJournalResponse{}}},
		{Name: "FindRuns", Response: "FindRunsResponse", Access: Read, Effect: Query, Since: "0.2", handle: findRuns,
			Route: &Route{Method: "GET", Path: "/runs", Summary: "List runs, newest first",
				Note:    "Runs that fit every filter; those of a tree (rootRunId) come oldest first.",
				Request: wire.FindRunsRequest{}, Reply: wire.FindRunsResponse{}}},
	}
}

func (c *Call) runID() (string, error) {
	var req wire.RunRequest
	if err := c.bind(&req); err != nil {
		return "", err
	}
	return bounded.Name(req.RunID, "Run ID")
}

func getRun(ctx context.Context, c *Call) (Result, error) {
	runID, err := c.runID()
	if err != nil {
		return Result{}, err
	}
	var out wire.RunResponse
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		r, _, err := c.onRun(tx, runID)
		if err != nil {
			return err
		}
		out.Run, err = runInfo(tx, &r)
		out.Run.SourceText = sourceOf(&r)
		return err
	})
	return Result{Value: out}, err
}

func runInfo(tx store.Tx, r *runs.Run) (wire.RunInfo, error) {
	info := r.Info()
	var err error
	info.ChildRunCount, err = runs.ChildCount(tx, r.ID)
	return info, err
}

func listRuns(ctx context.Context, c *Call) (Result, error) {
	var req wire.ListRunsRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	limit := int64(defaultPage)
	if req.Limit != nil {
		if *req.Limit < 1 {
			return Result{}, fault.Invalid("limit must be a positive integer")
		}
		limit = min(*req.Limit, maxPage)
	}
	out := wire.ListRunsResponse{Runs: []wire.RunInfo{}}
	err := c.opts.Store.Read(ctx, func(tx store.Tx) error {
		out.Runs = out.Runs[:0]
		list, on, err := c.selectRuns(tx, &req, limit)
		if err != nil {
			return err
		}
		for i := range list {
			if req.Status != nil && *req.Status != string(list[i].Status) {
				continue
			}
			if sees, err := c.seesRun(tx, &list[i], on); err != nil || !sees {
				if err != nil {
					return err
				}
				continue
			}
			info, err := runInfo(tx, &list[i])
			if err != nil {
				return err
			}
			out.Runs = append(out.Runs, info)
		}
		return nil
	})
	return Result{Value: out}, err
}

// selectRuns finds what was asked for, and on which agent.
func (c *Call) selectRuns(tx store.Tx, req *wire.ListRunsRequest, limit int64) (list []runs.Run, on access, err error) {
	given := 0
	for _, id := range []*string{req.RootRunID, req.SessionID, req.AgentID} {
		if id != nil {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, on, fault.Invalid("ListRuns requires rootRunId, sessionId, or agentId")
	case req.RootRunID != nil:
		if _, on, err = c.onRun(tx, *req.RootRunID); err == nil {
			list, err = runs.Tree(tx, *req.RootRunID, limit)
		}
	case req.SessionID != nil:
		if _, on, err = c.onSession(tx, *req.SessionID); err == nil {
			list, err = runs.OfSession(tx, *req.SessionID, limit)
		}
	default:
		if on, err = c.onAgent(tx, *req.AgentID, wire.MsgAgentNotFound); err == nil {
			list, err = runs.OfAgent(tx, *req.AgentID, limit)
		}
	}
	return list, on, err
}

// getRunJournal answers what the kinds of runs that there are have written: turns keep their record in the session's log.
func getRunJournal(ctx context.Context, c *Call) (Result, error) {
	var req wire.RunJournalRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	runID, err := bounded.Name(req.RunID, "Run ID")
	if err != nil {
		return Result{}, err
	}
	after, err := AfterSeq(req.AfterSeq)
	if err != nil {
		return Result{}, err
	}
	out := wire.RunJournalResponse{RunID: runID}
	err = c.opts.Store.Read(ctx, func(tx store.Tx) error {
		if _, _, err := c.onRun(tx, runID); err != nil {
			return err
		}
		out.Entries, err = journal(tx, runID, after, maxJournal)
		return err
	})
	return Result{Value: out}, err
}

// maxJournal is more than a journal may hold.
const maxJournal = 10_000

func journal(tx store.Tx, runID string, after, limit int64) ([]wire.RunJournalEntry, error) {
	entries, err := runs.Journal(tx, runID, after, limit)
	out := make([]wire.RunJournalEntry, len(entries))
	for i, e := range entries {
		out[i] = wire.RunJournalEntry{RunID: runID, Seq: e.Seq, Entry: wire.Payload(e.Entry), CreatedAt: e.CreatedAt}
	}
	return out, err
}

func signalRun(ctx context.Context, c *Call) (Result, error) {
	var req wire.SignalRunRequest
	if err := c.bind(&req); err != nil {
		return Result{}, err
	}
	runID, err := bounded.Name(req.RunID, "Run ID")
	if err != nil {
		return Result{}, err
	}
	var payload json.RawMessage
	if req.Payload != nil {
		if payload, err = json.Marshal(req.Payload); err != nil {
			return Result{}, fault.Wrap(err, fault.ValidationFailed, "payload cannot be written as JSON")
		}
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		if _, _, err := c.onRun(tx, runID); err != nil {
			return nil, err
		}
		delivered, err := c.opts.Runs.Signal(tx, runID, req.Signal, payload)
		return wire.SignalRunResponse{RunID: runID, Delivered: delivered}, err
	})
}

func cancelRun(ctx context.Context, c *Call) (Result, error) {
	runID, err := c.runID()
	if err != nil {
		return Result{}, err
	}
	return c.commit(ctx, once{}, func(tx store.Tx) (any, error) {
		if _, _, err := c.onRun(tx, runID); err != nil {
			return nil, err
		}
		canceled, err := c.opts.Runs.Cancel(tx, runID)
		return wire.CancelRunResponse{RunID: runID, Canceled: canceled}, err
	})
}
