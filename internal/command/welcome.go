package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/wire"
)

// welcome tells the person who started the server what there is now and what to do next. It is a courtesy: when the server
// cannot be asked, it says less.
func (a *app) welcome(ctx context.Context, h hosted) {
	lines := []string{
		"Loam is ready.",
		"",
		"  address   " + h.url,
		"  data      " + a.data,
		"  owner     " + h.server.Owner().String(),
	}
	if first, ok := a.firstAgent(ctx, h.url); ok {
		lines = append(lines, "  agent     "+printable(first.Definition.Name)+" on "+printable(first.Definition.Model))
		if first.Definition.ModelProvider == tutorProvider {
			lines = append(lines, "            (the tutor is no language model; `loam providers set --help` connects one)")
		}
	}
	lines = append(lines, "", "In another terminal, type:  loam chat"+a.dataFlag(), "Ctrl-C stops the server.", "")
	fmt.Fprintln(a.err, "\n"+strings.Join(lines, "\n"))
}

// firstAgent is the oldest agent of the owner.
func (a *app) firstAgent(ctx context.Context, url string) (wire.AgentInfo, bool) {
	key, err := server.OwnerKey(a.data)
	if err != nil {
		return wire.AgentInfo{}, false
	}
	c, err := client.New(url, key)
	if err != nil {
		return wire.AgentInfo{}, false
	}
	reply, err := client.Call[wire.ListAgentsResponse](ctx, c, "ListAgents", nil)
	if err != nil || len(reply.Agents) == 0 {
		return wire.AgentInfo{}, false
	}
	return oldest(reply.Agents), true
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
