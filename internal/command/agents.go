package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/wire"
)

type agentsCommand struct {
	List   agentsList   `cmd:"" default:"withargs" help:"List agents."`
	Show   agentsShow   `cmd:"" help:"Print an agent."`
	Create agentsCreate `cmd:"" help:"Make an agent."`
	Set    agentsSet    `cmd:"" help:"Change an agent."`
	Edit   agentsEdit   `cmd:"" help:"Change an agent's whole definition in your editor."`
	Delete agentsDelete `cmd:"" help:"Delete an agent with its conversations and memory."`

	Members agentsMembers `cmd:"" help:"List who works with an agent."`
	Share   agentsShare   `cmd:"" help:"Invite an account to an agent, or change what it may do."`
	Unshare agentsUnshare `cmd:"" help:"Take an account off an agent, or an invitation back."`
	Public  agentsPublic  `cmd:"" help:"Let everybody read an agent or chat with it, or end that."`
	Invites agentsInvites `cmd:"" help:"List what you are invited to."`
	Accept  agentsAccept  `cmd:"" help:"Accept an invitation."`
	Decline agentsDecline `cmd:"" help:"Decline an invitation."`
	Leave   agentsLeave   `cmd:"" help:"Take yourself off somebody else's agent."`
}

type agentsList struct {
	connection
	JSON bool `help:"Print JSON."`
}

// Run lists agents.
func (c *agentsList) Run(ctx context.Context, a *app) error {
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	agents, err := listAgents(ctx, cl)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(agents)
	}
	var rows [][]string
	for _, agent := range agents {
		d := agent.Definition
		rows = append(rows, []string{agent.ID, d.Name, d.ModelProvider + "/" + d.Model, toolNames(d.Tools), agent.AccessRole, when(agent.UpdatedAt)})
	}
	return a.table("There are no agents. `loam agents create NAME` makes one.", []string{"AGENT", "NAME", "MODEL", "TOOLS", "ROLE", "UPDATED"}, rows)
}

func toolNames(tools *[]string) string {
	switch {
	case tools == nil:
		return "all"
	case len(*tools) == 0:
		return "none"
	}
	return strings.Join(*tools, ",")
}

func listAgents(ctx context.Context, cl *client.Client) ([]wire.AgentInfo, error) {
	return everyPage(ctx, cl, "ListAgents", func(r wire.ListAgentsResponse) ([]wire.AgentInfo, string) { return r.Agents, r.NextCursor })
}

// findAgent takes a name or an id. Without one it is the agent that was made first.
func findAgent(ctx context.Context, cl *client.Client, name string) (wire.AgentInfo, error) {
	agents, err := listAgents(ctx, cl)
	if err != nil {
		return wire.AgentInfo{}, err
	}
	if name == "" && len(agents) > 0 {
		return oldest(agents), nil
	}
	if i := slices.IndexFunc(agents, func(a wire.AgentInfo) bool { return a.ID == name }); i >= 0 {
		return agents[i], nil
	}
	var found []wire.AgentInfo
	for _, agent := range agents {
		if strings.EqualFold(agent.Definition.Name, name) {
			found = append(found, agent)
		}
	}
	switch len(found) {
	case 0:
		// A public agent is in nobody's list.
		if reply, err := client.Call[wire.GetAgentResponse](ctx, cl, "GetAgent", wire.AgentRequest{AgentID: name}); err == nil {
			return reply.Agent, nil
		}
		if len(agents) == 0 {
			return wire.AgentInfo{}, errors.New("there are no agents; `loam agents create NAME` makes one")
		}
		var names []string
		for _, agent := range agents {
			names = append(names, agent.Definition.Name)
		}
		return wire.AgentInfo{}, fmt.Errorf("there is no agent %q%s; `loam agents` lists them", name, didYouMean(name, names))
	case 1:
		return found[0], nil
	}
	return wire.AgentInfo{}, fmt.Errorf("%d agents are called %q; use the id that `loam agents` shows", len(found), name)
}

// onAgent opens a client and finds an agent.
func (c *connection) onAgent(ctx context.Context, a *app, name string) (*client.Client, wire.AgentInfo, error) {
	cl, err := c.open(ctx, a)
	if err != nil {
		return nil, wire.AgentInfo{}, err
	}
	agent, err := findAgent(ctx, cl, name)
	return cl, agent, err
}

type agentsShow struct {
	connection
	Agent string `arg:"" help:"Name or id."`
	JSON  bool   `help:"Print JSON."`
}

// Run prints an agent.
func (c *agentsShow) Run(ctx context.Context, a *app) error {
	_, agent, err := c.onAgent(ctx, a, c.Agent)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(agent)
	}
	return a.printAgent(agent)
}

func (a *app) printAgent(agent wire.AgentInfo) error {
	d := agent.Definition
	return a.pairs([][2]string{
		{"agent", agent.ID}, {"name", d.Name}, {"model", d.ModelProvider + "/" + d.Model}, {"reasoning", d.ReasoningLevel},
		{"thoroughness", d.Thoroughness}, {"tools", toolNames(d.Tools)}, {"asks before", asks(d.ToolApproval)}, {"role", agent.AccessRole},
		{"made", when(agent.CreatedAt)}, {"updated", when(agent.UpdatedAt)}, {"prompt", promptText(d.SystemPrompt)},
	})
}

// promptText is the text of a prompt's blocks, which is enough to recognise it.
func promptText(blocks wire.PromptBlocks) string {
	var lines []string
	for _, b := range blocks {
		if text, ok := b.Block["text"].(string); ok {
			lines = append(lines, text)
		}
		if below := promptText(b.Children); below != "" {
			lines = append(lines, below)
		}
	}
	return strings.Join(lines, " ")
}

// pairs writes named values, leaving out the empty ones.
func (a *app) pairs(pairs [][2]string) error {
	for _, p := range pairs {
		if p[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(a.out, "%-13s %s\n", p[0], printable(p[1])); err != nil {
			return err
		}
	}
	return nil
}

// definition holds the flags that create and set share. A nil field was not given.
type definition struct {
	Prompt       *string   `help:"System prompt, as Markdown." placeholder:"TEXT"`
	Provider     *string   "help:\"Name of a configured provider (see `loam providers`).\" placeholder:\"NAME\""
	Model        *string   `help:"Model of the provider." placeholder:"MODEL"`
	Reasoning    *string   `help:"Reasoning level: minimal, low, medium, high, xhigh or max." placeholder:"LEVEL"`
	Thoroughness *string   `help:"How much work a turn may spend: quick, normal or deep." placeholder:"LEVEL"`
	Tools        *[]string `help:"Callables that the agent may use, such as web_search; an empty list is none. Reading and writing its memory needs none." placeholder:"NAMES"`
	AskBefore    *[]string `help:"Tools that you approve before each call, or all for every tool that acts on the world; an empty list is none." placeholder:"NAMES"`
	McpServers   *[]string `name:"mcp-servers" help:"MCP servers whose tools the agent may use; an empty list is none." placeholder:"NAMES"`
}

// check refuses values that the server would refuse, and says which are allowed.
func (d *definition) check() error {
	for _, choice := range []struct {
		flag    string
		value   *string
		allowed []string
	}{
		{"reasoning", d.Reasoning, []string{"minimal", "low", "medium", "high", "xhigh", "max"}},
		{"thoroughness", d.Thoroughness, []string{"quick", "normal", "deep"}},
	} {
		if choice.value != nil && !slices.Contains(choice.allowed, *choice.value) {
			return exitcode.With(exitcode.Usage, fmt.Errorf("--%s %q: use one of %s", choice.flag, *choice.value, strings.Join(choice.allowed, ", ")))
		}
	}
	return nil
}

func (d *definition) empty() bool {
	return d.Prompt == nil && d.Provider == nil && d.Model == nil && d.Reasoning == nil && d.Thoroughness == nil && d.Tools == nil && d.McpServers == nil && d.AskBefore == nil
}

func (d *definition) apply(fields map[string]any) {
	for key, value := range map[string]*string{
		"systemPrompt": d.Prompt, "modelProvider": d.Provider, "model": d.Model, "reasoningLevel": d.Reasoning, "thoroughness": d.Thoroughness,
	} {
		if value != nil {
			fields[key] = *value
		}
	}
	if d.Tools != nil {
		fields["tools"] = toolList(*d.Tools)
	}
	if d.AskBefore != nil {
		fields["toolApproval"] = askBefore(*d.AskBefore)
	}
	if d.McpServers != nil {
		fields["mcpServers"] = toolList(*d.McpServers)
	}
}

// askBefore is which calls need an approval, as a definition has it.
func askBefore(names []string) map[string]any {
	out, tools := map[string]any{}, map[string]any{}
	for _, item := range toolList(names) {
		if item == "all" {
			out["default"] = "required"
			continue
		}
		tools[item.(string)] = "required"
	}
	if len(tools) > 0 {
		out["tools"] = tools
	}
	return out
}

// asks is askBefore for people.
func asks(p *wire.ToolApproval) string {
	if p == nil {
		return ""
	}
	var out []string
	if p.Default == "required" {
		out = append(out, "all")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Tools)) {
		if p.Tools[name] == "required" {
			out = append(out, name)
		} else {
			out = append(out, "not "+name)
		}
	}
	return strings.Join(out, ", ")
}

func toolList(names []string) []any {
	list := []any{}
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" {
			list = append(list, name)
		}
	}
	return list
}

type agentsCreate struct {
	connection
	definition
	Name string `arg:"" help:"Name of the agent."`
	JSON bool   `help:"Print JSON."`
}

// Run makes an agent. Its tools are an explicit list, so that it never has more than was said.
func (c *agentsCreate) Run(ctx context.Context, a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	cl, err := c.open(ctx, a)
	if err != nil {
		return err
	}
	if err := unused(ctx, cl, c.Name, ""); err != nil {
		return err
	}
	fields := map[string]any{"name": c.Name, "systemPrompt": "You are a helpful assistant.", "tools": []any{}}
	c.apply(fields)
	if err := defaultModel(ctx, cl, fields); err != nil {
		return err
	}
	reply, err := client.Call[wire.CreateAgentResponse](ctx, cl, "CreateAgent", wire.CreateAgentRequest{Definition: fields})
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(reply)
	}
	_, err = fmt.Fprintln(a.out, reply.AgentID)
	return err
}

// unused refuses a name that another agent than the one of an id has, since commands find agents by name.
func unused(ctx context.Context, cl *client.Client, name, id string) error {
	agents, err := listAgents(ctx, cl)
	if err != nil {
		return err
	}
	for _, agent := range agents {
		if agent.ID != id && strings.EqualFold(agent.Definition.Name, strings.TrimSpace(name)) {
			return fmt.Errorf("there is an agent %q already; choose another name, or change that one with `loam agents set %s`", agent.Definition.Name, quoted(agent.Definition.Name))
		}
	}
	return nil
}

// defaultModel takes provider and model of the first agent when none was chosen.
func defaultModel(ctx context.Context, cl *client.Client, fields map[string]any) error {
	_, hasProvider := fields["modelProvider"]
	_, hasModel := fields["model"]
	if hasProvider != hasModel {
		return exitcode.With(exitcode.Usage, errors.New("--provider and --model belong together"))
	}
	if hasModel {
		return nil
	}
	first, err := findAgent(ctx, cl, "")
	if err != nil {
		return exitcode.With(exitcode.Usage, errors.New("say on which model with --provider and --model; `loam providers` lists what is connected"))
	}
	fields["modelProvider"], fields["model"] = first.Definition.ModelProvider, first.Definition.Model
	return nil
}

type agentsSet struct {
	connection
	definition
	Agent  string  `arg:"" help:"Name or id."`
	Rename *string `help:"New name." placeholder:"NAME"`
}

// Run changes the named parts of an agent, keeps the rest, and prints what the agent is now.
func (c *agentsSet) Run(ctx context.Context, a *app) error {
	if c.empty() && c.Rename == nil {
		return exitcode.With(exitcode.Usage, errors.New("nothing to change was named; `loam agents set --help` lists what can be"))
	}
	if err := c.check(); err != nil {
		return err
	}
	cl, agent, err := c.onAgent(ctx, a, c.Agent)
	if err != nil {
		return err
	}
	if c.Rename != nil {
		if err := unused(ctx, cl, *c.Rename, agent.ID); err != nil {
			return err
		}
	}
	now, err := changeAgent(ctx, cl, agent, func(fields map[string]any) {
		c.apply(fields)
		if c.Rename != nil {
			fields["name"] = *c.Rename
		}
	})
	if err != nil {
		return err
	}
	return a.printAgent(now)
}

// changeAgent saves an agent's definition after change has worked on it, and returns what is stored then.
func changeAgent(ctx context.Context, cl *client.Client, agent wire.AgentInfo, change func(map[string]any)) (wire.AgentInfo, error) {
	text, err := json.Marshal(agent.Definition)
	if err != nil {
		return agent, err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return agent, err
	}
	change(fields)
	if _, err := cl.Do(ctx, map[string]any{"_": "UpdateAgent", "agentId": agent.ID, "definition": fields}); err != nil {
		return agent, err
	}
	return findAgent(ctx, cl, agent.ID)
}

type agentsDelete struct {
	connection
	sure
	Agent string `arg:"" help:"Name or id."`
}

// Run deletes an agent.
func (c *agentsDelete) Run(ctx context.Context, a *app) error {
	cl, agent, err := c.onAgent(ctx, a, c.Agent)
	if err != nil {
		return err
	}
	if err := c.confirm(a, "the agent "+agent.Definition.Name+" with its conversations and memory"); err != nil {
		return err
	}
	if _, err := cl.Do(ctx, map[string]any{"_": "DeleteAgent", "agentId": agent.ID}); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, "deleted "+agent.ID)
	return err
}
