// Package mcp speaks to the MCP servers that accounts configure.
//
// A Server is a row: where it is, and what the last discovery found there. Its tools become tool documents of the agents that name the
// server (spec §11); reading those never reaches the network, so a dead server costs a turn nothing. A call opens a connection, or uses
// the one that is open, and bounds what comes back.
//
// Servers are reached by streamable HTTP or SSE (protocol revisions up to 2026-07-28; the SDK negotiates), or run as a command of this
// machine when the operator allows that program. HTTP goes through egress: the operator class for servers that the server's owner set,
// the agent class for all others, and never to another origin than the configured one, so that no header with a secret leaves it.
//
// What a server says (names, descriptions, schemas, results) is a stranger's: names are made safe and unique, texts are cut, schemas that
// are too large or too deep are replaced by one that takes any object, results are cut and fenced.
//
// mcp is tier 3. It imports store, vault, account, fault, fence and the wire. Operations (tier 6) configure servers with it, and the composition
// root turns a document's call into Manager.Call.
package mcp

import "time"

// Limits.
const (
	// MaxServers is how many servers an account may have.
	MaxServers = 64
	// MaxURL bounds an address, MaxHeaders and MaxHeader the headers and the value of one, in bytes (spec §11).
	MaxURL     = 2048
	MaxHeaders = 16
	MaxHeader  = 4096
	// MaxArguments bounds the words of a command, MaxArgument one of them in bytes.
	MaxArguments = 64
	MaxArgument  = 4096
	// MaxTools is how many tools of one server are taken, MaxPages in how many pages.
	MaxTools = 512
	MaxPages = 64
	// MaxToolName bounds the name of a document in bytes (spec §11).
	MaxToolName = 64
	// MaxDescription and MaxSchema bound a tool's texts in bytes, maxSchemaDepth how deep a schema nests.
	MaxDescription = 16 << 10
	MaxSchema      = 64 << 10
	maxSchemaDepth = 64
	// MaxDiscovery bounds the descriptions and schemas of one server together: later tools lose their schema.
	MaxDiscovery = 2 << 20
	// MaxResult bounds the text of a result in bytes (spec §11), MaxMessage what is taken from the connection for it.
	MaxResult  = 256 << 10
	MaxMessage = 16 << 20
	// ConnectTimeout bounds connecting and listing together, CallTimeout one call.
	ConnectTimeout = 20 * time.Second
	CallTimeout    = 2 * time.Minute
	// IdleTimeout closes a connection that nobody used.
	IdleTimeout = 5 * time.Minute
	// DiscoveryTTL is how old a discovery may be when a tool of the server is called; an older one is renewed beside the call.
	DiscoveryTTL = time.Hour
)
