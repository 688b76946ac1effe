package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/wire"
)

type runsCommand struct {
	List    runsList    `cmd:"" default:"withargs" help:"List runs, the newest first."`
	Show    runsShow    `cmd:"" help:"Print a run."`
	Start   runsStart   `cmd:"" help:"Run a script with what an agent may do."`
	Watch   runsWatch   `cmd:"" help:"Follow a run and what it started until it ends."`
	Journal runsJournal `cmd:"" help:"Print the journal of a script."`
	Signal  runsSignal  `cmd:"" help:"Give a run that waits for it a signal."`
	Cancel  runsCancel  `cmd:"" help:"Cancel a run and what it started."`
}

// statuses are those of runs.
var statuses = []string{"queued", "claimed", "running", "waiting", "succeeded", "failed", "canceled"}

type runsList struct {
	connection
	Agent   string `help:"Only those of this agent (name or id)." placeholder:"AGENT"`
	Session string `help:"Only those of this conversation (id or its beginning)." placeholder:"SESSION"`
	Tree    string `help:"Only this run and what it started, the oldest first." placeholder:"RUN"`
	Status  string `help:"Only those in this state: queued, claimed, running, waiting, succeeded, failed or canceled." placeholder:"STATUS"`
	Limit   int64  `help:"How many at most." default:"30"`
	JSON    bool   `help:"Print JSON."`
}

// Run lists runs.
func (c *runsList) Run(ctx context.Context, a *app) error {
	if err := oneOf("--status", c.Status, statuses); err != nil {
		return err
	}
	if c.Limit < 1 {
		return exitcode.With(exitcode.Usage, errors.New("--limit must be positive"))
	}
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	request, err := c.request(ctx, cl)
	if err != nil {
		return err
	}
	list, err := pagesOfRuns(ctx, cl, request, c.Limit)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(list)
	}
	var rows [][]string
	for _, r := range list {
		rows = append(rows, []string{r.ID, r.Kind, r.Status, took(&r), when(r.CreatedAt), r.Title})
	}
	return a.table("There are no such runs.", []string{"RUN", "KIND", "STATUS", "TOOK", "CREATED", "TITLE"}, rows)
}

// pagesOfRuns reads as many pages as are needed.
func pagesOfRuns(ctx context.Context, cl *client.Client, request wire.FindRunsRequest, limit int64) ([]wire.RunInfo, error) {
	out := []wire.RunInfo{}
	for {
		left := limit - int64(len(out))
		request.Limit = &left
		page, err := client.Call[wire.FindRunsResponse](ctx, cl, "FindRuns", request)
		if err != nil {
			return nil, err
		}
		out = append(out, page.Runs...)
		if page.NextCursor == "" || int64(len(out)) >= limit {
			return out, nil
		}
		request.Cursor = &page.NextCursor
	}
}

func (c *runsList) request(ctx context.Context, cl *client.Client) (r wire.FindRunsRequest, err error) {
	if c.Agent != "" {
		agent, err := findAgent(ctx, cl, c.Agent)
		if err != nil {
			return r, err
		}
		r.AgentID = &agent.ID
	}
	if c.Session != "" {
		id, err := findSession(ctx, cl, c.Session)
		if err != nil {
			return r, err
		}
		r.SessionID = &id
	}
	if c.Tree != "" {
		run, err := findRun(ctx, cl, c.Tree)
		if err != nil {
			return r, err
		}
		r.RootRunID = &run.RootRunID
	}
	if c.Status != "" {
		r.Status = &c.Status
	}
	return r, nil
}

// took is how long a run has executed, empty before it began.
func took(r *wire.RunInfo) string {
	if r.StartedAt == 0 || r.FinishedAt == 0 {
		return ""
	}
	return (time.Duration(r.FinishedAt-r.StartedAt) * time.Millisecond).Round(10 * time.Millisecond).String()
}

// findRun takes the id of a run or a beginning of it that only one of the latest has.
func findRun(ctx context.Context, cl *client.Client, id string) (wire.RunInfo, error) {
	if len(id) >= wholeID {
		reply, err := client.Call[wire.RunResponse](ctx, cl, "GetRun", wire.RunRequest{RunID: id})
		return reply.Run, err
	}
	list, err := pagesOfRuns(ctx, cl, wire.FindRunsRequest{}, searched)
	if err != nil {
		return wire.RunInfo{}, err
	}
	var found []wire.RunInfo
	for _, r := range list {
		if strings.HasPrefix(r.ID, id) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return wire.RunInfo{}, fmt.Errorf("there is no run %q; `loam runs` lists them", id)
	case 1:
		return found[0], nil
	}
	return wire.RunInfo{}, fmt.Errorf("%d runs begin with %q; give more of the id", len(found), id)
}

// onRun opens a client and finds a run.
func (c *connection) onRun(ctx context.Context, a *app, id string) (*client.Client, wire.RunInfo, error) {
	cl, err := c.open(ctx, a)
	if err != nil {
		return nil, wire.RunInfo{}, err
	}
	run, err := findRun(ctx, cl, id)
	return cl, run, err
}

type runsShow struct {
	connection
	ID   string `arg:"" name:"run" help:"Id of the run, or its beginning."`
	JSON bool   `help:"Print JSON."`
}

// Run prints a run.
func (c *runsShow) Run(ctx context.Context, a *app) error {
	_, run, err := c.onRun(ctx, a, c.ID)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(run)
	}
	pairs := [][2]string{
		{"run", run.ID}, {"title", run.Title}, {"kind", run.Kind}, {"status", run.Status}, {"origin", run.Origin}, {"agent", run.AgentID},
		{"session", run.SessionID}, {"parent", run.ParentRunID}, {"created", when(run.CreatedAt)}, {"started", when(run.StartedAt)},
		{"finished", when(run.FinishedAt)}, {"took", took(&run)},
	}
	if run.Usage != nil {
		pairs = append(pairs, [2]string{"tokens", fmt.Sprintf("%d in, %d out", run.Usage.Input, run.Usage.Output)})
	}
	if run.Error != nil {
		pairs = append(pairs, [2]string{"error", run.Error.Code + ": " + run.Error.Message})
		for line := range strings.Lines(run.Error.Stack) {
			pairs = append(pairs, [2]string{"", strings.TrimSpace(line)})
		}
	}
	if run.Plan != nil {
		for _, step := range run.Plan.Steps {
			pairs = append(pairs, [2]string{"step", step.Status + " " + step.Label})
		}
	}
	if run.Wait != nil {
		pairs = append(pairs, [2]string{"waits for", waitsFor(run.Wait)})
	}
	return a.pairs(pairs)
}

// waitsFor says what a run waits for, and how a person ends that.
func waitsFor(w *wire.RunWait) string {
	moment := func(ms int64) string { return time.UnixMilli(ms).Local().Format("2006-01-02 15:04") }
	switch w.Reason {
	case "timer":
		return moment(w.WakeAt)
	case "children":
		return "what it started"
	case "event":
		text := w.Label
		if w.AnswerWith != "" {
			text = strings.TrimSpace(text + " (signal " + w.AnswerWith + ")")
		}
		if w.WakeAt > 0 {
			text += ", until " + moment(w.WakeAt)
		}
		return strings.TrimPrefix(text, ", ")
	}
	return strings.TrimSpace(w.Reason + " " + w.Label)
}

type runsCancel struct {
	connection
	ID string `arg:"" name:"run" help:"Id of the run, or its beginning."`
}

// Run cancels a run. One that has ended stays as it is, which is said and no failure.
func (c *runsCancel) Run(ctx context.Context, a *app) error {
	cl, run, err := c.onRun(ctx, a, c.ID)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.CancelRunResponse](ctx, cl, "CancelRun", wire.RunRequest{RunID: run.ID})
	if err != nil {
		return err
	}
	text := "canceled " + run.ID
	if !reply.Canceled {
		text = run.ID + " had ended already"
	}
	_, err = fmt.Fprintln(a.out, text)
	return err
}

type runsWatch struct {
	connection
	ID   string `arg:"" name:"run" help:"Id of the run, or its beginning."`
	JSON bool   `help:"Print each change as a line of JSON."`
}

// Run prints every change of a run and of what it started. It ends as the run does: with the code of a failed turn when the
// run failed or was canceled.
func (c *runsWatch) Run(ctx context.Context, a *app) error {
	cl, run, err := c.onRun(ctx, a, c.ID)
	if err != nil {
		return err
	}
	said := map[string]string{}
	for frame, err := range cl.Subscribe(ctx, wire.KeyRun+run.ID, 0) {
		if err != nil {
			return err
		}
		if frame.Kind == wire.FrameError {
			return &client.Error{Status: 400, Message: frame.Message, Code: frame.Code}
		}
		var now wire.RunInfo
		if frame.Kind != wire.FrameChange || json.Unmarshal(frame.Value, &now) != nil || now.ID == "" {
			continue
		}
		if said[now.ID] != now.Status {
			said[now.ID] = now.Status
			if err := c.print(a, &now); err != nil {
				return err
			}
		}
		if now.ID == run.ID && ended(now.Status) {
			return verdict(&now)
		}
	}
	return ctx.Err()
}

func (c *runsWatch) print(a *app, r *wire.RunInfo) error {
	if c.JSON {
		return a.jsonLine(r)
	}
	_, err := fmt.Fprintf(a.out, "%s  %s%-9s  %s\n", r.ID, strings.Repeat("  ", int(r.Depth)), r.Status, printable(r.Title))
	return err
}

func ended(status string) bool {
	return status == "succeeded" || status == "failed" || status == "canceled"
}

// verdict is how a command ends that waited for a run.
func verdict(r *wire.RunInfo) error {
	switch {
	case r.Status == "succeeded":
		return nil
	case r.Error != nil:
		return exitcode.With(exitcode.TurnFailed, errors.New(r.Error.Message))
	}
	return exitcode.With(exitcode.TurnFailed, errors.New("the run was "+r.Status))
}
