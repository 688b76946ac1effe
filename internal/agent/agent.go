// Package agent keeps agents: their definition, its published versions, and what a definition grants.
//
// A definition comes from a client as a map and is checked and normalised whole by ParseDefinition before anything is
// written; what the caller's account must provide for it (a provider, a reasoning level the model takes) is checked by
// CheckModel through functions that the caller hands over. Saving a definition also publishes it: every save is a new,
// immutable version. Rows live in the caller's transaction.
//
// agent is tier 2: it imports dagcbor, wire, store and fault, and its own sub-package prompt for Markdown and blocks.
// Operations (tier 6), the Space (tier 4) and the engine (tier 5) call it. Sessions, runs and memory of an agent belong to
// their own packages.
package agent

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// statusIdle is the status that every agent has: what runs is told by its activity.
const statusIdle = "idle"

// Agent is one row.
type Agent struct {
	// ID is the agent, Account its owner.
	ID, Account string
	// Definition is the newest one.
	Definition wire.AgentDefinition
	// Version is the number of the newest published version, from 1.
	Version int64
	// PublicRead lets every account read the agent, and PublicChat, on top of it, talk to it.
	PublicRead, PublicChat bool
	// CreatedAt and UpdatedAt are epoch milliseconds.
	CreatedAt, UpdatedAt int64
}

// Version is an immutable published definition.
type Version struct {
	AgentID string
	// Number counts from 1 in each agent.
	Number     int64
	Definition wire.AgentDefinition
	// CreatedBy is the account that saved it.
	CreatedBy string
	// CreatedAt is epoch milliseconds.
	CreatedAt int64
}

// CreateParams is an agent to make.
type CreateParams struct {
	// ID is a fresh identifier. Account must exist.
	ID, Account string
	// Definition comes from ParseDefinition.
	Definition wire.AgentDefinition
	// CreatedBy is the account that acts.
	CreatedBy string
	// Now is epoch milliseconds.
	Now int64
}

// Create writes the agent and its version 1.
func Create(tx store.Tx, p CreateParams) (Agent, error) {
	text, err := encode(p.Definition)
	if err != nil {
		return Agent{}, err
	}
	a := Agent{
		ID: p.ID, Account: p.Account, Definition: p.Definition, Version: 1, CreatedAt: p.Now, UpdatedAt: p.Now,
	}
	_, err = tx.Exec(`INSERT INTO agents (id, account_id, definition, version, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?)`, a.ID, a.Account, text, a.Version, p.Now, p.Now)
	if err != nil {
		return Agent{}, fmt.Errorf("create agent: %w", err)
	}
	return a, publish(tx, a.ID, a.Version, text, p.CreatedBy, p.Now)
}

// UpdateParams is a definition that replaces an agent's whole.
type UpdateParams struct {
	ID string
	// Definition comes from ParseDefinition.
	Definition wire.AgentDefinition
	// CreatedBy is the account that acts.
	CreatedBy string
	// Now is epoch milliseconds.
	Now int64
}

// Update replaces the definition and publishes it as the next version. A missing agent is fault.NotFound.
func Update(tx store.Tx, p UpdateParams) (Agent, error) {
	text, err := encode(p.Definition)
	if err != nil {
		return Agent{}, err
	}
	a := Agent{ID: p.ID, Definition: p.Definition, UpdatedAt: p.Now}
	err = tx.QueryRow(`UPDATE agents SET definition = ?, version = version + 1, updated_at = ? WHERE id = ?
		RETURNING account_id, version, public_read, public_chat, created_at`, text, p.Now, p.ID).
		Scan(&a.Account, &a.Version, &a.PublicRead, &a.PublicChat, &a.CreatedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return Agent{}, notFound()
	}
	if err != nil {
		return Agent{}, fmt.Errorf("update agent: %w", err)
	}
	return a, publish(tx, a.ID, a.Version, text, p.CreatedBy, p.Now)
}

func publish(tx store.Tx, agentID string, version int64, definition, by string, now int64) error {
	_, err := tx.Exec(`INSERT INTO agent_versions (agent_id, version, definition, created_by, created_at)
		VALUES (?, ?, ?, ?, ?)`, agentID, version, definition, by, now)
	if err != nil {
		return fmt.Errorf("publish agent version: %w", err)
	}
	return nil
}

const columns = `id, account_id, definition, version, public_read, public_chat, created_at, updated_at`

// Get finds an agent, or returns fault.NotFound.
func Get(tx store.Tx, id string) (Agent, error) {
	a, err := scan(tx.QueryRow(`SELECT `+columns+` FROM agents WHERE id = ?`, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Agent{}, notFound()
	}
	return a, err
}

// Head is Get without the definition, for those who ask whose agent it is and which version is the newest.
func Head(tx store.Tx, id string) (Agent, error) {
	a := Agent{ID: id}
	err := tx.QueryRow(`SELECT account_id, version, public_read, public_chat, created_at, updated_at FROM agents WHERE id = ?`, id).
		Scan(&a.Account, &a.Version, &a.PublicRead, &a.PublicChat, &a.CreatedAt, &a.UpdatedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return Agent{}, notFound()
	}
	if err != nil {
		return Agent{}, fmt.Errorf("read agent: %w", err)
	}
	return a, nil
}

// ListFor returns a page of the agents that an account owns or was invited to and accepted, newest update first, and whether there
// are more.
func ListFor(tx store.Tx, account string, p store.Page) (page []Agent, more bool, err error) {
	clause, args := p.Clause("updated_at", "id")
	rows, err := tx.Query(`SELECT `+columns+` FROM agents WHERE (account_id = ? OR id IN
		(SELECT agent_id FROM agent_collaborators WHERE account_id = ? AND status = 'accepted'))`+clause, append([]any{account, account}, args...)...)
	if err != nil {
		return nil, false, fmt.Errorf("list agents: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		a, err := scan(rows.Scan)
		if err != nil {
			return nil, false, err
		}
		page = append(page, a)
	}
	if err := rows.Err(); err != nil {
		return nil, false, fmt.Errorf("list agents: %w", err)
	}
	page, more = store.CutPage(p, page)
	return page, more, nil
}

// OwnedBy lists the agents of an account.
func OwnedBy(tx store.Tx, account string) ([]Agent, error) {
	return Where(tx, `account_id = ?`, account)
}

// Where lists the agents of which a condition in SQL holds.
func Where(tx store.Tx, condition string, args ...any) (out []Agent, err error) {
	rows, err := tx.Query(`SELECT `+columns+` FROM agents WHERE `+condition+` ORDER BY id`, args...)
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		a, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, rows.Err()
}

// SetPublic says what accounts that were not invited may do: read, and, on top of that, chat. now is epoch milliseconds. A missing
// agent is fault.NotFound.
func SetPublic(tx store.Tx, id string, read, chat bool, now int64) (Agent, error) {
	number := map[bool]int{true: 1}
	a, err := scan(tx.QueryRow(`UPDATE agents SET public_read = ?, public_chat = ?, updated_at = ? WHERE id = ? RETURNING `+columns,
		number[read], number[chat], now, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Agent{}, notFound()
	}
	return a, err
}

// VersionOf finds a published version. A missing agent or version is fault.NotFound.
func VersionOf(tx store.Tx, id string, number int64) (Version, error) {
	v := Version{AgentID: id, Number: number}
	var text string
	err := tx.QueryRow(`SELECT definition, created_by, created_at FROM agent_versions
		WHERE agent_id = ? AND version = ?`, id, number).Scan(&text, &v.CreatedBy, &v.CreatedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return Version{}, fault.Missing("Agent version not found")
	}
	if err != nil {
		return Version{}, fmt.Errorf("look up agent version: %w", err)
	}
	v.Definition, err = decode(text)
	return v, err
}

// Delete removes the agent and its versions. A missing agent is fault.NotFound. What else belongs to the agent is removed
// by the packages that keep it, in the same transaction.
func Delete(tx store.Tx, id string) error {
	n, err := tx.Exec(`DELETE FROM agents WHERE id = ?`, id)
	if err != nil {
		return fmt.Errorf("delete agent: %w", err)
	}
	if n == 0 {
		return notFound()
	}
	if _, err := tx.Exec(`DELETE FROM agent_versions WHERE agent_id = ?`, id); err != nil {
		return fmt.Errorf("delete agent versions: %w", err)
	}
	return nil
}

// Info is the agent as a caller with that role sees it (owner, writer, reader, chatter; may be empty). stateDir is the
// agent's folder on the server, activity what the sessions tell, or nil.
func Info(a Agent, role, stateDir string, activity *wire.AgentActivity) wire.AgentInfo {
	return wire.AgentInfo{
		ID: a.ID, Account: a.Account, Definition: a.Definition, StateDir: stateDir, Status: statusIdle,
		CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt, AccessRole: role, PublicRead: a.PublicRead, PublicChat: a.PublicChat,
		Activity: activity,
	}
}

func notFound() error { return fault.Missing("Agent not found") }

func scan(into func(...any) error) (a Agent, err error) {
	var text string
	if err := into(&a.ID, &a.Account, &text, &a.Version, &a.PublicRead, &a.PublicChat, &a.CreatedAt, &a.UpdatedAt); err != nil {
		return Agent{}, fmt.Errorf("read agent: %w", err)
	}
	if a.Definition, err = decode(text); err != nil {
		return Agent{}, fmt.Errorf("agent %s: %w", a.ID, err)
	}
	return a, nil
}
