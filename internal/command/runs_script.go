package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/internal/script"
	"github.com/loam-agents/loam/wire"
)

type runsStart struct {
	connection
	File  string `arg:"" help:"File with the script, - for standard input."`
	Agent string `help:"Agent whose tools and memory the script uses (name or id)." placeholder:"AGENT" required:""`
	Input string `help:"What the script gets as its input, as JSON."`
	Title string `help:"Name of the run; the name of the file when not given."`
	Watch bool   `help:"Follow the run until it ends."`
}

// Run starts a script and prints the id of its run.
func (c *runsStart) Run(ctx context.Context, a *app) error {
	source, err := c.source(a)
	if err != nil {
		return err
	}
	request := wire.StartScriptRequest{Script: string(source)}
	if request.Input, err = jsonValue("input", c.Input); err != nil {
		return err
	}
	if c.Title == "" && c.File != "-" {
		c.Title = filepath.Base(c.File)
	}
	if c.Title != "" {
		request.Title = &c.Title
	}
	cl, agent, err := c.onAgent(ctx, a, c.Agent)
	if err != nil {
		return err
	}
	request.AgentID = agent.ID
	reply, err := client.Call[wire.StartScriptResponse](ctx, cl, "StartScript", request)
	if err != nil {
		return err
	}
	if c.Watch {
		watch := runsWatch{connection: c.connection, ID: reply.RunID}
		return watch.Run(ctx, a)
	}
	_, err = fmt.Fprintln(a.out, reply.RunID)
	return err
}

// source reads the script, and not more than a server takes.
func (c *runsStart) source(a *app) ([]byte, error) {
	from, err := a.file(c.File)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return io.ReadAll(io.LimitReader(from, script.MaxSource+1))
}

// jsonValue is what a person wrote as JSON; nil when it is empty.
func jsonValue(what, text string) (value any, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return nil, exitcode.With(exitcode.Usage, fmt.Errorf("the %s is not JSON: %w", what, err))
	}
	return value, nil
}

type runsSignal struct {
	connection
	ID      string `arg:"" name:"run" help:"Id of the run, or its beginning."`
	Signal  string `arg:"" help:"Name of the signal. A run that waits for any answers to \"answer\"."`
	Payload string `arg:"" optional:"" help:"What the run gets, as JSON."`
}

// Run gives a run a signal. A run that does not wait for it is told of and no failure.
func (c *runsSignal) Run(ctx context.Context, a *app) error {
	payload, err := jsonValue("payload", c.Payload)
	if err != nil {
		return err
	}
	cl, run, err := c.onRun(ctx, a, c.ID)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.SignalRunResponse](ctx, cl, "SignalRun", wire.SignalRunRequest{RunID: run.ID, Signal: c.Signal, Payload: payload})
	if err != nil {
		return err
	}
	text := "delivered to " + run.ID
	if !reply.Delivered {
		text = run.ID + " does not wait for " + printable(c.Signal)
	}
	_, err = fmt.Fprintln(a.out, text)
	return err
}

type runsJournal struct {
	connection
	ID    string `arg:"" name:"run" help:"Id of the run, or its beginning."`
	After int64  `help:"Only what stands behind this number."`
	JSON  bool   `help:"Print each entry as a line of JSON."`
}

// Run prints the journal of a run, which only scripts have.
func (c *runsJournal) Run(ctx context.Context, a *app) error {
	cl, run, err := c.onRun(ctx, a, c.ID)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.RunJournalResponse](ctx, cl, "GetRunJournal", wire.RunJournalRequest{RunID: run.ID, AfterSeq: &c.After})
	if err != nil {
		return err
	}
	for i := range reply.Entries {
		if err := c.print(a, &reply.Entries[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *runsJournal) print(a *app, e *wire.RunJournalEntry) error {
	if c.JSON {
		return a.jsonLine(e)
	}
	_, err := fmt.Fprintf(a.out, "%5d  %s  %s\n", e.Seq, time.UnixMilli(e.CreatedAt).UTC().Format(time.RFC3339), printable(string(e.Entry)))
	return err
}
