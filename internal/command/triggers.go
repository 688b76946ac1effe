package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/wire"
)

type triggersCommand struct {
	List   triggersList   `cmd:"" default:"withargs" help:"List what starts an agent by itself."`
	Show   triggersShow   `cmd:"" help:"Show a trigger, its newest firings and, for a webhook, its address."`
	Create triggersCreate `cmd:"" help:"Make a trigger: a schedule, a webhook, or one for runs that end."`
	Save   triggersSave   `cmd:"" help:"Make or change a trigger from JSON."`
	On     triggersOn     `cmd:"" help:"Switch a trigger on; it counts from now."`
	Off    triggersOff    `cmd:"" help:"Switch a trigger off; it is kept."`
	Run    triggersRun    `cmd:"" help:"Make a trigger fire now."`
	Delete triggersDelete `cmd:"" help:"Delete a trigger and the record of its firings."`
}

// triggers lists those of the agent.
func (c *ofAgent) triggers(ctx context.Context, a *app) (*client.Client, wire.AgentInfo, []wire.TriggerInfo, error) {
	cl, agent, err := c.find(ctx, a)
	if err != nil {
		return nil, agent, nil, err
	}
	reply, err := client.Call[wire.ListAgentTriggersResponse](ctx, cl, "ListAgentTriggers", wire.AgentRequest{AgentID: agent.ID})
	return cl, agent, reply.Triggers, err
}

// trigger finds one of the agent by its id, its beginning, or its name.
func (c *ofAgent) trigger(ctx context.Context, a *app, name string) (*client.Client, wire.TriggerInfo, error) {
	cl, agent, list, err := c.triggers(ctx, a)
	if err != nil {
		return nil, wire.TriggerInfo{}, err
	}
	var found []wire.TriggerInfo
	var names []string
	for _, t := range list {
		if t.ID == name {
			return cl, t, nil
		}
		if t.Name == name || len(name) >= 4 && strings.HasPrefix(t.ID, name) {
			found = append(found, t)
		}
		names = append(names, t.Name)
	}
	switch len(found) {
	case 0:
		return nil, wire.TriggerInfo{}, fmt.Errorf("%s has no trigger %q%s; `loam triggers` lists them", agent.Definition.Name, name, didYouMean(name, names))
	case 1:
		return cl, found[0], nil
	}
	return nil, wire.TriggerInfo{}, fmt.Errorf("%s has several triggers %q: name one by its id", agent.Definition.Name, name)
}

// ofTrigger is what commands on one trigger take.
type ofTrigger struct {
	ofAgent
	Trigger string `arg:"" help:"Name of the trigger, or its id or the beginning of it."`
}

type triggersList struct {
	ofAgent
	JSON bool `help:"Print JSON."`
}

// Run lists triggers.
func (c *triggersList) Run(ctx context.Context, a *app) error {
	_, _, list, err := c.triggers(ctx, a)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(append([]wire.TriggerInfo{}, list...))
	}
	var rows [][]string
	for i := range list {
		t := &list[i]
		rows = append(rows, []string{t.Name, switched(t), t.When, when(t.LastFiredAt), when(t.NextFireAt), t.LastError})
	}
	return a.table("The agent has no triggers. `loam triggers create --help` shows how to make one.",
		[]string{"TRIGGER", "STATE", "WHEN", "FIRED", "NEXT", "ERROR"}, rows)
}

func switched(t *wire.TriggerInfo) string {
	switch {
	case t.MergedInto != "":
		return "merged"
	case t.Enabled:
		return "on"
	}
	return "off"
}

type triggersShow struct {
	ofTrigger
	JSON bool `help:"Print JSON."`
}

// Run shows a trigger.
func (c *triggersShow) Run(ctx context.Context, a *app) error {
	cl, t, err := c.trigger(ctx, a, c.Trigger)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.GetAgentTriggerResponse](ctx, cl, "GetAgentTrigger", wire.TriggerRequest{TriggerID: t.ID})
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(reply)
	}
	lines := []string{fmt.Sprintf("%s (%s), %s: %s", printable(reply.Trigger.Name), reply.Trigger.ID, switched(&reply.Trigger), printable(reply.Trigger.When))}
	for _, line := range []struct{ label, value string }{
		{"next", when(reply.Trigger.NextFireAt)}, {"notice", reply.Trigger.Notice}, {"last error", reply.Trigger.LastError},
		{"address", reply.WebhookURL}, {"signing secret", reply.SigningSecret},
	} {
		if line.value != "" {
			lines = append(lines, line.label+": "+printable(line.value))
		}
	}
	if _, err := fmt.Fprintln(a.out, strings.Join(lines, "\n")); err != nil {
		return err
	}
	var rows [][]string
	for _, f := range reply.Firings {
		rows = append(rows, []string{when(f.CreatedAt), f.Status, f.ActivitySummary, f.SessionID, f.Error})
	}
	return a.table("It has not fired yet.", []string{"FIRED", "STATUS", "WHAT", "SESSION", "ERROR"}, rows)
}

type triggersCreate struct {
	ofAgent
	Name      string `arg:"" help:"Name of the trigger."`
	Prompt    string `help:"What the agent is asked to do; - reads it from standard input." required:""`
	Every     string `help:"Fire so often: 30m, 2h or 1d." xor:"source" placeholder:"INTERVAL"`
	Cron      string `help:"Fire by a cron expression of five fields." xor:"source" placeholder:"EXPRESSION"`
	Webhook   bool   `help:"Fire when a webhook is called; its address is printed." xor:"source"`
	Signed    bool   `help:"Ask for signed deliveries to the webhook (Standard Webhooks)."`
	Completed bool   `help:"Fire when a run of the account ends." xor:"source"`
	Status    string `help:"With --completed: only runs that ended like this: succeeded, failed or canceled." placeholder:"STATUS"`
	Timezone  string `help:"With --cron: the time zone, like Europe/Berlin." default:"UTC"`
}

// Run makes a trigger.
func (c *triggersCreate) Run(ctx context.Context, a *app) error {
	source, err := c.source()
	if err != nil {
		return err
	}
	prompt := c.Prompt
	if prompt == "-" {
		body, err := io.ReadAll(a.in)
		if err != nil {
			return err
		}
		prompt = string(body)
	}
	cl, agent, err := c.find(ctx, a)
	if err != nil {
		return err
	}
	return create(ctx, a, cl, agent.ID, wire.TriggerInput{Name: c.Name, Prompt: prompt, Source: source})
}

func (c *triggersCreate) source() (s wire.TriggerSource, err error) {
	switch {
	case c.Every != "":
		unit, ok := map[byte]string{'m': "minutes", 'h': "hours", 'd': "days"}[c.Every[len(c.Every)-1]]
		every := int64(0)
		if _, err := fmt.Sscanf(c.Every[:len(c.Every)-1], "%d", &every); err != nil || !ok {
			return s, exitcode.With(exitcode.Usage, fmt.Errorf("--every takes a number and m, h or d, like 30m, not %q", c.Every))
		}
		return wire.TriggerSource{Type: "schedule", Schedule: &wire.TriggerSchedule{Kind: "interval", Every: every, Unit: unit}}, nil
	case c.Cron != "":
		return wire.TriggerSource{Type: "schedule", Schedule: &wire.TriggerSchedule{Kind: "cron", Cron: c.Cron, Timezone: c.Timezone}}, nil
	case c.Webhook:
		return wire.TriggerSource{Type: "webhook", Signed: c.Signed}, nil
	case c.Completed:
		return wire.TriggerSource{Type: "run-completed", Status: c.Status}, nil
	}
	return s, exitcode.With(exitcode.Usage, fmt.Errorf("say what makes it fire: --every, --cron, --webhook or --completed; `loam triggers save` takes everything else"))
}

func create(ctx context.Context, a *app, cl *client.Client, agentID string, in wire.TriggerInput) error {
	reply, err := client.Call[wire.AgentTriggerResponse](ctx, cl, "CreateAgentTrigger", wire.CreateAgentTriggerRequest{AgentID: agentID, Trigger: in})
	if err != nil {
		return err
	}
	return saved(a, &reply)
}

// saved prints what there is to know of a trigger that was saved.
func saved(a *app, reply *wire.AgentTriggerResponse) error {
	lines := []string{reply.Trigger.ID}
	if reply.Trigger.NextFireAt != 0 {
		lines = append(lines, "next: "+when(reply.Trigger.NextFireAt))
	}
	if reply.Trigger.Notice != "" {
		lines = append(lines, "notice: "+reply.Trigger.Notice)
	}
	if reply.WebhookURL != "" {
		lines = append(lines, "address: "+reply.WebhookURL)
	}
	if reply.SigningSecret != "" {
		lines = append(lines, "signing secret: "+reply.SigningSecret)
	}
	_, err := fmt.Fprintln(a.out, strings.Join(lines, "\n"))
	return err
}

type triggersSave struct {
	ofAgent
	Trigger string `arg:"" optional:"" help:"The trigger to change; a new one is made without it."`
	File    string `help:"File with the JSON, as the API takes it: name, source, prompt, continuation, enabled; - for standard input." default:"-"`
}

// Run makes or changes a trigger.
func (c *triggersSave) Run(ctx context.Context, a *app) error {
	from, err := a.file(c.File)
	if err != nil {
		return err
	}
	defer from.Close()
	decoder := json.NewDecoder(io.LimitReader(from, 1<<20))
	decoder.DisallowUnknownFields()
	if c.Trigger == "" {
		var in wire.TriggerInput
		if err := decoder.Decode(&in); err != nil {
			return exitcode.With(exitcode.Usage, fmt.Errorf("the trigger is not the JSON of one: %w", err))
		}
		cl, agent, err := c.find(ctx, a)
		if err != nil {
			return err
		}
		return create(ctx, a, cl, agent.ID, in)
	}
	var patch wire.TriggerPatch
	if err := decoder.Decode(&patch); err != nil {
		return exitcode.With(exitcode.Usage, fmt.Errorf("the change is not the JSON of one: %w", err))
	}
	return c.change(ctx, a, c.Trigger, patch)
}

// change applies a patch to a trigger as it is now.
func (c *ofAgent) change(ctx context.Context, a *app, name string, patch wire.TriggerPatch) error {
	cl, t, err := c.trigger(ctx, a, name)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.AgentTriggerResponse](ctx, cl, "UpdateAgentTrigger", wire.UpdateAgentTriggerRequest{
		TriggerID: t.ID, Patch: patch, ExpectedUpdatedAt: &t.UpdatedAt,
	})
	if err != nil {
		return err
	}
	return saved(a, &reply)
}

type triggersOn struct {
	ofTrigger
}

// Run switches a trigger on.
func (c *triggersOn) Run(ctx context.Context, a *app) error {
	on := true
	return c.change(ctx, a, c.Trigger, wire.TriggerPatch{Enabled: &on})
}

type triggersOff struct {
	ofTrigger
}

// Run switches a trigger off.
func (c *triggersOff) Run(ctx context.Context, a *app) error {
	off := false
	return c.change(ctx, a, c.Trigger, wire.TriggerPatch{Enabled: &off})
}

type triggersRun struct {
	ofTrigger
}

// Run makes a trigger fire, and prints what that led to.
func (c *triggersRun) Run(ctx context.Context, a *app) error {
	cl, t, err := c.trigger(ctx, a, c.Trigger)
	if err != nil {
		return err
	}
	reply, err := client.Call[wire.RunAgentTriggerResponse](ctx, cl, "RunAgentTrigger", wire.TriggerRequest{TriggerID: t.ID})
	if err != nil {
		return err
	}
	f := &reply.Firing
	if f.Error != "" {
		return fmt.Errorf("it fired, and nothing came of it: %s", f.Error)
	}
	text := f.Status
	for _, part := range []struct{ label, id string }{{"session", f.SessionID}, {"run", f.RunID}} {
		if part.id != "" {
			text += " " + part.label + " " + part.id
		}
	}
	_, err = fmt.Fprintln(a.out, text)
	return err
}

type triggersDelete struct {
	ofTrigger
	sure
}

// Run deletes a trigger.
func (c *triggersDelete) Run(ctx context.Context, a *app) error {
	cl, t, err := c.trigger(ctx, a, c.Trigger)
	if err != nil {
		return err
	}
	if err := c.confirm(a, "the trigger "+t.Name); err != nil {
		return err
	}
	if _, err := client.Call[wire.TriggerRequest](ctx, cl, "DeleteAgentTrigger", wire.TriggerRequest{TriggerID: t.ID}); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, "deleted "+printable(t.Name))
	return err
}
