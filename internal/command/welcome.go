package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/wire"
)

// first is the agent that was made first, as far as the start of a server tells about it. The zero value is none.
type first struct {
	name, model, provider string
	// origin says why this model was chosen, when this start has chosen it.
	origin string
}

// attributes are for the log.
func (f first) attributes() []any {
	if f.name == "" {
		return nil
	}
	out := []any{"agent", f.name, "model", f.provider + "/" + f.model}
	if f.origin != "" {
		out = append(out, "origin", f.origin)
	}
	return out
}

// welcome tells the person who started the server what there is now and what to do next. It is a courtesy: when the server
// cannot be asked, it says less.
func (a *app) welcome(h hosted, f first, link string) {
	lines := []string{
		"Loam is ready.",
		"",
		"  address   " + h.url,
		"  data      " + a.data,
		"  owner     " + h.server.Owner().String(),
	}
	if f.name != "" {
		text := "  agent     " + f.name + " runs on " + f.provider + "/" + f.model
		if f.origin != "" {
			text += " (" + f.origin + ")"
		}
		lines = append(lines, printable(text))
		if f.provider == tutorProvider {
			lines = append(lines, "            The tutor is no language model; `loam providers set --help` connects one.")
		}
	}
	if link != "" {
		lines = append(lines, "", "Sign in, once, within 15 minutes; `loam link` prints another link:", "  "+link)
	}
	lines = append(lines, "", "In another terminal, type:  loam chat"+a.dataFlag(), "Ctrl-C stops the server.", "")
	fmt.Fprintln(a.err, "\n"+strings.Join(lines, "\n"))
}

// firstAgent asks a server that was started at a time for the oldest agent of the owner.
func (a *app) firstAgent(ctx context.Context, url string, start time.Time) first {
	key, err := server.OwnerKey(a.data)
	if err != nil {
		return first{}
	}
	c, err := client.New(url, key)
	if err != nil {
		return first{}
	}
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	agents, err := listAgents(ctx, c)
	if err != nil || len(agents) == 0 {
		return first{}
	}
	agent := oldest(agents)
	d := agent.Definition
	f := first{name: d.Name, model: d.Model, provider: d.ModelProvider}
	if agent.CreatedAt >= start.UnixMilli() {
		f.origin = a.origin(f.provider)
	}
	return f
}

// origin says why a first start has chosen a type of provider.
func (a *app) origin(kind string) string {
	for _, variable := range server.KeyVariables(kind) {
		if value, _ := a.lookup(variable); value != "" {
			return "key from " + variable
		}
	}
	switch kind {
	case tutorProvider:
		return "no provider's key was in the environment"
	case model.TypeOllama:
		return "found on this machine"
	}
	return ""
}

func oldest(agents []wire.AgentInfo) wire.AgentInfo {
	first := agents[0]
	for _, candidate := range agents[1:] {
		if candidate.CreatedAt < first.CreatedAt {
			first = candidate
		}
	}
	return first
}
