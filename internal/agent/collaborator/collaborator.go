// Package collaborator knows the accounts that work with somebody else's agent: who was invited, who accepted, and what each may do.
//
// A row is an invitation until its account accepts it: until then it gives no access and says nothing of the agent but its name.
// The owner has no row. The package keeps rows in the caller's transaction and decides nothing: who may invite, and what a role
// permits, is decided by operations.
//
// collaborator belongs to agent (tier 2): it imports store, fault and wire. Operations and notify call it.
package collaborator

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// The roles on an agent (spec/agents-protocol.md §3.0). Accounts are invited as Reader or Writer. Owner is the agent's own account.
// Chatter is what public chat makes of an account that was not invited.
const (
	Owner   = "owner"
	Writer  = "writer"
	Chatter = "chatter"
	Reader  = "reader"
)

// The statuses of a row.
const (
	Pending  = "pending"
	Accepted = "accepted"
)

// Collaborator is one account on one agent.
type Collaborator struct {
	Agent, Account string
	// Role is Reader or Writer, Status Pending or Accepted.
	Role, Status string
	// CreatedAt and UpdatedAt are epoch milliseconds.
	CreatedAt, UpdatedAt int64
}

// Info is the collaborator as others on the agent see it.
func (c Collaborator) Info() wire.CollaboratorInfo {
	return wire.CollaboratorInfo{AccountID: c.Account, Role: c.Role, Status: c.Status, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt}
}

// Invite makes a pending row, or gives a row that is there another role and leaves its status. now is epoch milliseconds.
func Invite(tx store.Tx, agentID, account, role string, now int64) (Collaborator, error) {
	c, err := scan(tx.QueryRow(`INSERT INTO agent_collaborators (`+columns+`) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent_id, account_id) DO UPDATE SET role = excluded.role, updated_at = excluded.updated_at
		RETURNING `+columns, agentID, account, role, Pending, now, now).Scan)
	if err != nil {
		return Collaborator{}, fmt.Errorf("invite collaborator: %w", err)
	}
	return c, nil
}

// Accept makes a pending row count. An account without one is fault.NotFound.
func Accept(tx store.Tx, agentID, account string, now int64) (Collaborator, error) {
	c, err := scan(tx.QueryRow(`UPDATE agent_collaborators SET status = ?, updated_at = ? WHERE agent_id = ? AND account_id = ? AND status = ?
		RETURNING `+columns, Accepted, now, agentID, account, Pending).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Collaborator{}, fault.Missing(wire.MsgInviteNotFound)
	}
	if err != nil {
		return Collaborator{}, fmt.Errorf("accept invitation: %w", err)
	}
	return c, nil
}

// Decline removes a pending row. An account without one is fault.NotFound.
func Decline(tx store.Tx, agentID, account string) error {
	n, err := tx.Exec(`DELETE FROM agent_collaborators WHERE agent_id = ? AND account_id = ? AND status = ?`, agentID, account, Pending)
	if err != nil {
		return fmt.Errorf("decline invitation: %w", err)
	}
	if n == 0 {
		return fault.Missing(wire.MsgInviteNotFound)
	}
	return nil
}

// Remove deletes a row of either status. An account without one is fault.NotFound.
func Remove(tx store.Tx, agentID, account string) error {
	n, err := tx.Exec(`DELETE FROM agent_collaborators WHERE agent_id = ? AND account_id = ?`, agentID, account)
	if err != nil {
		return fmt.Errorf("remove collaborator: %w", err)
	}
	if n == 0 {
		return fault.Missing(wire.MsgCollaboratorNotFound)
	}
	return nil
}

// RemoveAll deletes every row of an agent.
func RemoveAll(tx store.Tx, agentID string) error {
	if _, err := tx.Exec(`DELETE FROM agent_collaborators WHERE agent_id = ?`, agentID); err != nil {
		return fmt.Errorf("remove collaborators: %w", err)
	}
	return nil
}

// RoleOf is the role that an account accepted on an agent; empty when it has none.
func RoleOf(tx store.Tx, agentID, account string) (role string, err error) {
	err = tx.QueryRow(`SELECT role FROM agent_collaborators WHERE agent_id = ? AND account_id = ? AND status = ?`, agentID, account, Accepted).Scan(&role)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("look up collaborator: %w", err)
	}
	return role, nil
}

// Of returns the rows of an agent, also the pending ones, the oldest first.
func Of(tx store.Tx, agentID string) ([]Collaborator, error) {
	return list(tx, `agent_id = ? ORDER BY created_at, account_id`, agentID)
}

// With returns the rows of an account that have a status, newest update first.
func With(tx store.Tx, account, status string) ([]Collaborator, error) {
	return list(tx, `account_id = ? AND status = ? ORDER BY updated_at DESC, agent_id DESC`, account, status)
}

const columns = `agent_id, account_id, role, status, created_at, updated_at`

func list(tx store.Tx, where string, args ...any) (out []Collaborator, err error) {
	rows, err := tx.Query(`SELECT `+columns+` FROM agent_collaborators WHERE `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("list collaborators: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		c, err := scan(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("list collaborators: %w", err)
		}
		out = append(out, c)
	}
	return out, rows.Err()
}

func scan(into func(...any) error) (c Collaborator, err error) {
	err = into(&c.Agent, &c.Account, &c.Role, &c.Status, &c.CreatedAt, &c.UpdatedAt)
	return c, err
}
