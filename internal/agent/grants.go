package agent

import (
	"slices"

	"github.com/loam-agents/loam/wire"
)

// Grants is what a definition lets an agent do beyond the verbs, which are never granted, and its memory, which is always
// its own.
type Grants struct {
	// Callables are the names it may call, in the order the service lists them.
	Callables []string
	// Publish says that it may write to hm:// and ipfs://.
	Publish bool
}

// GrantsOf reads the grants of a definition (spec/agents-protocol.md §17). serviceCallables are the names that this server
// offers. An absent tools list grants all of them and publishing; a list grants what it names, with names of earlier
// protocols understood and unknown ones ignored.
func GrantsOf(d wire.AgentDefinition, serviceCallables []string) Grants {
	if d.Tools == nil {
		return Grants{Callables: slices.Clone(serviceCallables), Publish: true}
	}
	var out Grants
	named := map[string]bool{}
	for _, name := range *d.Tools {
		if name == "execute_code" {
			name = "execute"
		}
		named[name] = true
		out.Publish = out.Publish || publishes(name)
	}
	for _, name := range serviceCallables {
		if named[name] {
			out.Callables = append(out.Callables, name)
		}
	}
	return out
}

// publishes knows the grant and the tools of earlier protocols that implied it.
func publishes(name string) bool {
	switch name {
	case "publish", "write", "memory_publish_document", "ipfs_write", "attachment_to_ipfs":
		return true
	}
	return false
}

// SigningKeys are the names of the keys that an agent may sign with, sorted, each once.
func SigningKeys(d wire.AgentDefinition) []string {
	out := slices.Clone(d.SigningKeys)
	if d.SigningKey != "" {
		out = append(out, d.SigningKey)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
