package govern

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/tooldoc"
	"github.com/loam-agents/loam/wire"
)

// The modes of a definition's toolApproval.
const (
	Required = "required"
	Never    = "never"
)

// Needs tells whether a definition has a person asked before a tool is called. What it says of the tool's name wins over what it says
// of all that act on the world.
func Needs(def wire.AgentDefinition, tool string, effect tooldoc.Effect) bool {
	if def.ToolApproval == nil {
		return false
	}
	if mode := def.ToolApproval.Tools[tool]; mode != "" {
		return mode == Required
	}
	return def.ToolApproval.Default == Required && effect == tooldoc.SideEffecting
}

// Call is a call that needs an approval.
type Call struct {
	Account, Agent, Session, Run string
	// ID is that of Approval.Call.
	ID            string
	Tool, ToolCID string
	Arguments     json.RawMessage
}

// Verdict is what is known of a call.
type Verdict int

// The verdicts.
const (
	// Unasked: nobody was asked about this tool with these arguments.
	Unasked Verdict = iota
	// Waiting: a person was asked and has not answered.
	Waiting
	// Refused: a person has said no.
	Refused
	// Permitted: a person has said yes, and the call was not carried out.
	Permitted
	// InDoubt: a person has said yes, and the call was begun; nobody knows how it ended.
	InDoubt
)

// Gate finds out whether calls may be carried out.
type Gate struct {
	Store store.Store
	IDs   id.Source
	// Point is called at PointBegun; a crash test kills the process there. May be nil.
	Point func(name string)
}

// The named points of an approval: it is decided, and the call that it allows is marked as begun and not made yet.
const (
	PointDecided = "approval-decided"
	PointBegun   = "approval-begun"
)

// Look returns what is known of a call, and the newest approval of it.
func (g *Gate) Look(ctx context.Context, c Call) (v Verdict, a Approval, err error) {
	err = g.Store.Read(ctx, func(tx store.Tx) error {
		v, a, err = look(tx, c)
		return err
	})
	return v, a, err
}

func look(tx store.Tx, c Call) (Verdict, Approval, error) {
	a, err := scan(tx.QueryRow(`SELECT `+columns+` FROM approvals WHERE run_id = ? AND call = ? AND tool_cid = ? AND arguments = ?
		ORDER BY created_at DESC, id DESC LIMIT 1`, c.Run, c.ID, c.ToolCID, string(c.Arguments)).Scan)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Unasked, a, nil
	case err != nil:
		return Unasked, a, fmt.Errorf("read approval: %w", err)
	case a.Status == Pending:
		return Waiting, a, nil
	case a.Status == Approved && a.BegunAt == 0:
		return Permitted, a, nil
	case a.Status == Approved:
		return InDoubt, a, nil
	}
	return Refused, a, nil
}

// Ask asks a person about a call, in the transaction that registers the wait which it returns. What was asked already is not asked
// again; a call that is in doubt is.
func (g *Gate) Ask(tx store.Tx, c Call) (runs.Wait, error) {
	v, a, err := look(tx, c)
	if err != nil {
		return runs.Wait{}, err
	}
	if v == Permitted || v == Refused {
		// There is an answer already, and the call is prepared once more at once.
		return runs.Wait{ID: a.ID, Reason: runs.WaitTimer, WakeAt: tx.Now()}, nil
	}
	if v != Waiting {
		run, err := runs.Get(tx, c.Run)
		if err != nil {
			return runs.Wait{}, err
		}
		a = Approval{
			ID: g.IDs(), Account: c.Account, Agent: c.Agent, Session: c.Session, Run: c.Run, Root: run.Root, Call: c.ID, Tool: c.Tool,
			ToolCID: c.ToolCID, Arguments: c.Arguments, InDoubt: v == InDoubt, Status: Pending, CreatedAt: tx.Now(),
		}
		if err := insert(tx, &a); err != nil {
			return runs.Wait{}, err
		}
	}
	label := "Approve " + a.Tool
	if a.InDoubt {
		label = "Repeat " + a.Tool + ", which may have taken effect"
	}
	return runs.Wait{ID: a.ID, Reason: runs.WaitApproval, Label: label}, nil
}

func insert(tx store.Tx, a *Approval) error {
	doubt := 0
	if a.InDoubt {
		doubt = 1
	}
	_, err := tx.Exec(`INSERT INTO approvals (id, account_id, agent_id, session_id, run_id, root_run_id, call, tool, tool_cid, arguments,
		in_doubt, status, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.ID, a.Account, a.Agent, a.Session, a.Run, a.Root, a.Call, a.Tool, a.ToolCID, string(a.Arguments), doubt, string(a.Status), a.CreatedAt)
	if err != nil {
		return fmt.Errorf("ask for an approval: %w", err)
	}
	return nil
}

// Begin marks an approved call as begun. It tells whether it was not before: of two workers that both believe they hold the run, one
// carries the call out.
func (g *Gate) Begin(ctx context.Context, approvalID string) (first bool, err error) {
	err = g.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		n, err := tx.Exec(`UPDATE approvals SET begun_at = ? WHERE id = ? AND status = 'approved' AND begun_at = 0`, tx.Now(), approvalID)
		if err != nil {
			return fmt.Errorf("begin an approved call: %w", err)
		}
		first = n == 1
		return nil
	})
	if g.Point != nil {
		g.Point(PointBegun)
	}
	return first, err
}

// Canonical is the form in which arguments are asked about, compared and carried out: the same JSON value is the same text.
func Canonical(input json.RawMessage) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("read arguments: %w", err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write arguments: %w", err)
	}
	return out, nil
}

// Refusal says for a model, or for whoever reads a script's failure, that a person has said no.
func (a *Approval) Refusal() string {
	said := "A person has refused this call of " + a.Tool + "."
	if a.InDoubt {
		said = "The server stopped while " + a.Tool + " was carried out, and a person has refused to have it repeated: it may have taken effect."
	}
	if a.Note != "" {
		said += " They say: " + a.Note
	}
	return said + " Do not make it again unless they ask for it."
}
