// Package govern decides what a person has to be asked about before an agent does it, and keeps what was asked and what was answered.
//
// An approval is bound to one call: this tool document, these exact arguments, this run. A call that needs one parks its run; only
// Decide settles that wait, and no signal, trigger or agent does (design §6). Before an approved call is carried out it is marked as
// begun, so a crash after that leaves it in doubt: nobody but a person lets it be carried out once more.
//
// govern is part of tier 4. It imports store, runs and tooldoc. The verbs and the workflows ask it; operations decide and list.
package govern

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Status is where an approval stands.
type Status string

// The statuses. A pending approval is canceled when its run ends without an answer.
const (
	Pending  Status = "pending"
	Approved Status = "approved"
	Rejected Status = "rejected"
	Canceled Status = "canceled"
)

// MaxNote bounds what a person says with a decision, in bytes.
const MaxNote = 2 << 10

// Approval is one question to a person, and the answer.
type Approval struct {
	ID      string
	Account string
	Agent   string
	Session string
	Run     string
	Root    string
	// Call is the id of a turn's tool call, or the number of a group in a script's journal.
	Call string
	// Tool is the name, ToolCID the document that was asked about.
	Tool, ToolCID string
	Arguments     json.RawMessage
	// InDoubt says that the server stopped while the call was carried out: it may have taken effect already.
	InDoubt   bool
	Status    Status
	Note      string
	DecidedBy string
	// CreatedAt, DecidedAt and BegunAt are epoch milliseconds; the last is when an approved call was carried out.
	CreatedAt, DecidedAt, BegunAt int64
}

// Info is the approval as the API shows it.
func (a *Approval) Info() wire.ApprovalInfo {
	return wire.ApprovalInfo{
		ID: a.ID, Account: a.Account, AgentID: a.Agent, SessionID: a.Session, RunID: a.Run, RootRunID: a.Root, Call: a.Call, Tool: a.Tool,
		Arguments: a.Arguments, InDoubt: a.InDoubt, Status: string(a.Status), Note: a.Note, DecidedBy: a.DecidedBy,
		CreatedAt: a.CreatedAt, DecidedAt: a.DecidedAt,
	}
}

const columns = `id, account_id, agent_id, session_id, run_id, root_run_id, call, tool, tool_cid, arguments, in_doubt, status, note,
	decided_by, created_at, decided_at, begun_at`

func scan(into func(...any) error) (a Approval, err error) {
	var arguments string
	var doubt int64
	err = into(&a.ID, &a.Account, &a.Agent, &a.Session, &a.Run, &a.Root, &a.Call, &a.Tool, &a.ToolCID, &arguments, &doubt, &a.Status, &a.Note,
		&a.DecidedBy, &a.CreatedAt, &a.DecidedAt, &a.BegunAt)
	a.Arguments, a.InDoubt = json.RawMessage(arguments), doubt != 0
	return a, err
}

// Get reads an approval. A missing one is fault.NotFound.
func Get(tx store.Tx, id string) (Approval, error) {
	a, err := scan(tx.QueryRow(`SELECT `+columns+` FROM approvals WHERE id = ?`, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return a, fault.Missing("%s", wire.MsgApprovalNotFound)
	}
	if err != nil {
		return a, fmt.Errorf("read approval: %w", err)
	}
	return a, nil
}

// Query selects approvals of an account; empty fields select all.
type Query struct {
	// Account is needed.
	Account                     string
	Agent, Session, Run, Status string
	Page                        store.Page
}

// List returns a page of approvals, newest first, and whether there are more.
func List(tx store.Tx, q Query) (page []Approval, more bool, err error) {
	where, args := "account_id = ?", []any{q.Account}
	for _, f := range []struct{ column, value string }{{"agent_id", q.Agent}, {"session_id", q.Session}, {"run_id", q.Run}, {"status", q.Status}} {
		if f.value != "" {
			where, args = where+" AND "+f.column+" = ?", append(args, f.value)
		}
	}
	clause, more1 := q.Page.Clause("created_at", "id")
	rows, err := tx.Query(`SELECT `+columns+` FROM approvals WHERE `+where+clause, append(args, more1...)...)
	if err != nil {
		return nil, false, fmt.Errorf("list approvals: %w", err)
	}
	defer rows.Close()
	out := []Approval{}
	for rows.Next() {
		a, err := scan(rows.Scan)
		if err != nil {
			return nil, false, fmt.Errorf("list approvals: %w", err)
		}
		out = append(out, a)
	}
	page, more = store.CutPage(q.Page, out)
	return page, more, rows.Err()
}

// Decision is a person's answer.
type Decision struct {
	Approve bool
	Note    string
	// By is the account of the person.
	By string
}

// Decide answers a pending approval and lets its run go on once it waits for nothing else. An approval that was decided before, or
// whose run has ended, is fault.Conflict.
func Decide(tx store.Tx, q *runs.Queue, id string, d Decision) (Approval, error) {
	status := Rejected
	if d.Approve {
		status = Approved
	}
	n, err := tx.Exec(`UPDATE approvals SET status = ?, note = ?, decided_by = ?, decided_at = ? WHERE id = ? AND status = 'pending'`,
		string(status), d.Note, d.By, tx.Now(), id)
	if err != nil {
		return Approval{}, fmt.Errorf("decide approval: %w", err)
	}
	a, err := Get(tx, id)
	if err != nil {
		return a, err
	}
	if n == 0 {
		if a.Status == Canceled {
			return a, fault.New(fault.Conflict, "The run that asked for this has ended")
		}
		return a, fault.New(fault.Conflict, "This was decided before: %s", a.Status)
	}
	_, err = q.Settle(tx, a.Run, a.ID, runs.WaitApproval)
	return a, err
}

// Ended cancels what a run has asked and was not told before it ended.
func Ended(tx store.Tx, runID string) error {
	if _, err := tx.Exec(`UPDATE approvals SET status = 'canceled', decided_at = ? WHERE run_id = ? AND status = 'pending'`, tx.Now(), runID); err != nil {
		return fmt.Errorf("cancel approvals: %w", err)
	}
	return nil
}

// DeleteSession forgets what was asked in a session, and DeleteAgent what an agent has asked: arguments are content.
func DeleteSession(tx store.Tx, session string) error {
	if _, err := tx.Exec(`DELETE FROM approvals WHERE session_id = ?`, session); err != nil {
		return fmt.Errorf("delete approvals: %w", err)
	}
	return nil
}

// DeleteAgent is described at DeleteSession.
func DeleteAgent(tx store.Tx, agent string) error {
	if _, err := tx.Exec(`DELETE FROM approvals WHERE agent_id = ?`, agent); err != nil {
		return fmt.Errorf("delete approvals: %w", err)
	}
	return nil
}
