package mcp

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// The states of a discovery.
const (
	StateOK      = "ok"
	StateError   = "error"
	StateUnknown = "unknown"
)

// Server is one row: a configured server of an account.
type Server struct {
	ID, Account, Name string
	// Config is what ParseConfig returned.
	Config wire.McpServerConfig
	// State, Error and CheckedAt (epoch milliseconds) are of the last discovery; Tools are of the last good one.
	State, Error string
	CheckedAt    int64
	Tools        []Tool
	// CreatedAt and UpdatedAt are epoch milliseconds. UpdatedAt is when the configuration was saved last.
	CreatedAt, UpdatedAt int64
}

// Info is the server as its account sees it: names of headers and secrets, and no value of either.
func (s *Server) Info(signedIn bool) wire.McpServer {
	out := wire.McpServer{
		ID: s.ID, Name: s.Name, URL: s.Config.URL, Transport: s.Config.Transport, HasSecrets: len(s.Config.SecretRefs) > 0,
		HeaderNames: sortedNames(s.Config.Headers), SecretHeaderNames: sortedNames(s.Config.SecretRefs),
		Status: wire.McpStatus{State: s.State, Error: s.Error, CheckedAt: s.CheckedAt}, Tools: make([]wire.McpTool, len(s.Tools)),
		Auth: s.Config.Auth, SignedIn: signedIn, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
	switch {
	case len(s.Config.Command) > 0:
		// Arguments may hold a key; the program alone says what runs.
		out.Transport, out.Command = TransportStdio, s.Config.Command[:1]
	case out.Transport == "":
		out.Transport = TransportHTTP
	}
	for i, t := range s.Tools {
		out.Tools[i] = wire.McpTool{Name: t.RemoteName, ToolName: t.Name, Description: t.Description, InputSchema: t.Input}
	}
	return out
}

func sortedNames(m map[string]string) []string {
	return append([]string{}, slices.Sorted(maps.Keys(m))...)
}

// Set saves the configuration of a server and returns the row. A changed configuration keeps the tools until the next discovery. A new
// server beyond MaxServers is too_large.
func Set(tx store.Tx, id, account, name string, cfg wire.McpServerConfig, now int64) (Server, error) {
	text, err := json.Marshal(cfg)
	if err != nil {
		return Server{}, fmt.Errorf("encode MCP server: %w", err)
	}
	var others int64
	if err := tx.QueryRow(`SELECT COUNT(*) FROM mcp_servers WHERE account_id = ? AND name <> ?`, account, name).Scan(&others); err != nil {
		return Server{}, fmt.Errorf("count MCP servers: %w", err)
	}
	if others >= MaxServers {
		return Server{}, fault.New(fault.TooLarge, "An account has at most %d MCP servers: delete one first", MaxServers).With("limit", MaxServers)
	}
	_, err = tx.Exec(`INSERT INTO mcp_servers (id, account_id, name, config, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (account_id, name) DO UPDATE SET config = excluded.config, updated_at = excluded.updated_at`,
		id, account, name, string(text), now, now)
	if err != nil {
		return Server{}, fmt.Errorf("save MCP server: %w", err)
	}
	return Get(tx, account, name)
}

const columns = `id, account_id, name, config, state, error, checked_at, tools, created_at, updated_at`

// Get finds a server by name, or returns fault.NotFound.
func Get(tx store.Tx, account, name string) (Server, error) {
	return one(tx.QueryRow(`SELECT `+columns+` FROM mcp_servers WHERE account_id = ? AND name = ?`, account, name))
}

// byID finds a server by its id.
func byID(tx store.Tx, id string) (Server, error) {
	return one(tx.QueryRow(`SELECT `+columns+` FROM mcp_servers WHERE id = ?`, id))
}

func one(row *sql.Row) (Server, error) {
	s, err := scan(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Server{}, fault.Missing("MCP server not found")
	}
	return s, err
}

// List returns the servers of an account by name.
func List(tx store.Tx, account string) (out []Server, err error) {
	rows, err := tx.Query(`SELECT `+columns+` FROM mcp_servers WHERE account_id = ? ORDER BY name`, account)
	if err != nil {
		return nil, fmt.Errorf("list MCP servers: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		s, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// Delete removes a server and returns the names of the secrets that go with it: those that only it refers to and whose names say so
// (mcp-<server>-…). The caller deletes them in the same transaction. A missing server is fault.NotFound.
func Delete(tx store.Tx, account, name string) (secrets []string, err error) {
	gone, err := Get(tx, account, name)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(`DELETE FROM mcp_servers WHERE account_id = ? AND name = ?`, account, name); err != nil {
		return nil, fmt.Errorf("delete MCP server: %w", err)
	}
	rest, err := List(tx, account)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for i := range rest {
		for _, secret := range rest[i].Config.SecretRefs {
			used[secret] = true
		}
	}
	for _, header := range sortedNames(gone.Config.SecretRefs) {
		if secret := gone.Config.SecretRefs[header]; !used[secret] && ownSecret(name, secret) {
			secrets, used[secret] = append(secrets, secret), true
		}
	}
	return append(secrets, tokenSecret(name), loginSecret(name), clientSecret(name)), nil
}

func scan(into func(...any) error) (Server, error) {
	var s Server
	var config, tools string
	if err := into(&s.ID, &s.Account, &s.Name, &config, &s.State, &s.Error, &s.CheckedAt, &tools, &s.CreatedAt, &s.UpdatedAt); err != nil {
		return Server{}, fmt.Errorf("read MCP server: %w", err)
	}
	if err := errors.Join(json.Unmarshal([]byte(config), &s.Config), json.Unmarshal([]byte(tools), &s.Tools)); err != nil {
		return Server{}, fmt.Errorf("decode MCP server %s: %w", s.ID, err)
	}
	return s, nil
}

// Discovery is what was found at a server: tools, or why there are none.
type Discovery struct {
	Tools []Tool
	// Err is nil when the server answered; its text is for the account.
	Err error
}

// SaveDiscovery keeps what was found. A failed discovery keeps the tools of the last good one.
func SaveDiscovery(tx store.Tx, s *Server, d Discovery, now int64) error {
	s.State, s.Error, s.CheckedAt = StateOK, "", now
	if d.Err != nil {
		s.State, s.Error = StateError, fault.From(d.Err).Message
	} else {
		s.Tools = d.Tools
	}
	tools, err := json.Marshal(append([]Tool{}, s.Tools...))
	if err != nil {
		return fmt.Errorf("encode the tools of an MCP server: %w", err)
	}
	_, err = tx.Exec(`UPDATE mcp_servers SET state = ?, error = ?, checked_at = ?, tools = ? WHERE id = ?`, s.State, s.Error, s.CheckedAt, string(tools), s.ID)
	if err != nil {
		return fmt.Errorf("save what an MCP server offers: %w", err)
	}
	return nil
}
