package agent

import (
	"slices"

	"github.com/loam-agents/loam/wire"
)

// OneTool is an entry of a definition's MCP servers that stands for a single tool of one. A definition that was saved never has one:
// the name of a server holds no colon. A child that is narrowed to some tools has them.
func OneTool(name string) string { return "tool:" + name }

// Reaches tells whether a definition lets its agent call a tool of an MCP server.
func Reaches(d wire.AgentDefinition, server, tool string) bool {
	return slices.Contains(d.McpServers, server) || slices.Contains(d.McpServers, OneTool(tool))
}
