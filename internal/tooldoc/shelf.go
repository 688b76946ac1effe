package tooldoc

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
)

// Stored is a document on an agent's shelf.
type Stored struct {
	Document Document
	// CID is the address of the document.
	CID string
	// Enabled says that the document is offered at all; what is off is kept.
	Enabled bool
	// Author wrote an authored tool as it is now.
	Author Author
	// CreatedAt and UpdatedAt are epoch milliseconds.
	CreatedAt, UpdatedAt int64
}

// Author is whose hand a tool is of. It is no part of the document, and so not of its address.
type Author string

// The authors of authored tools; nobody is named for builtins, tools of MCP servers, and tools from before authors were kept.
const (
	ByAgent  Author = "agent"
	ByPerson Author = "person"
)

// fields is a document as it is kept in the database.
type fields struct {
	Summary     string          `json:"summary"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input"`
	Output      json.RawMessage `json:"output,omitempty"`
	Source      string          `json:"source,omitempty"`
	Runtime     string          `json:"runtime,omitempty"`
	Binding     string          `json:"binding,omitempty"`
	RemoteName  string          `json:"remoteName,omitempty"`
}

// Revision is a number that grows with every change of an agent's documents; zero before the first.
func Revision(tx store.Tx, agentID string) (int64, error) {
	var revision int64
	err := tx.QueryRow(`SELECT revision FROM tool_shelves WHERE agent_id = ?`, agentID).Scan(&revision)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the revision of a shelf: %w", err)
	}
	return revision, nil
}

// List reads all documents of an agent, sorted by name.
func List(tx store.Tx, agentID string) ([]Stored, error) {
	rows, err := tx.Query(`SELECT name, kind, server, cid, document, enabled, author, created_at, updated_at
		FROM tool_documents WHERE agent_id = ? ORDER BY name`, agentID)
	if err != nil {
		return nil, fmt.Errorf("list tool documents: %w", err)
	}
	defer rows.Close()
	var out []Stored
	for rows.Next() {
		s, err := scan(rows.Scan)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// Find reads one document; ok is false when there is none.
func Find(tx store.Tx, agentID, name string) (s Stored, ok bool, err error) {
	row := tx.QueryRow(`SELECT name, kind, server, cid, document, enabled, author, created_at, updated_at
		FROM tool_documents WHERE agent_id = ? AND name = ?`, agentID, name)
	s, err = scan(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Stored{}, false, nil
	}
	return s, err == nil, err
}

func scan(into func(...any) error) (Stored, error) {
	var s Stored
	var kind, text string
	var enabled int64
	if err := into(&s.Document.Name, &kind, &s.Document.Server, &s.CID, &text, &enabled, &s.Author, &s.CreatedAt, &s.UpdatedAt); err != nil {
		return Stored{}, fmt.Errorf("read a tool document: %w", err)
	}
	var f fields
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return Stored{}, fmt.Errorf("read tool document %q: %w", s.Document.Name, err)
	}
	s.Document.Kind, s.Enabled = Kind(kind), enabled != 0
	s.Document.Summary, s.Document.Description, s.Document.Input, s.Document.Output = f.Summary, f.Description, f.Input, f.Output
	s.Document.Source, s.Document.Runtime, s.Document.Binding, s.Document.RemoteName = f.Source, f.Runtime, f.Binding, f.RemoteName
	return s, nil
}

// Put writes a document in the place of the one of its name: what was created keeps its time, and a document whose address and
// switch are the same stays untouched. It returns what stands there now.
func Put(tx store.Tx, agentID string, d Document, enabled bool, now int64) (Stored, error) {
	cid, err := d.CID()
	if err != nil {
		return Stored{}, err
	}
	before, found, err := Find(tx, agentID, d.Name)
	if err != nil {
		return Stored{}, err
	}
	if found && before.CID == cid && before.Enabled == enabled {
		return before, nil
	}
	created := now
	if found {
		created = before.CreatedAt
	}
	s := Stored{Document: d, CID: cid, Enabled: enabled, CreatedAt: created, UpdatedAt: now}
	if err := insert(tx, agentID, &s); err != nil {
		return Stored{}, err
	}
	return s, touch(tx, agentID)
}

func insert(tx store.Tx, agentID string, s *Stored) error {
	d := &s.Document
	text, err := json.Marshal(fields{
		Summary: d.Summary, Description: d.Description, Input: d.Input, Output: d.Output, Source: d.Source, Runtime: d.Runtime,
		Binding: d.Binding, RemoteName: d.RemoteName,
	})
	if err != nil {
		return fmt.Errorf("encode tool document %q: %w", d.Name, err)
	}
	_, err = tx.Exec(`INSERT INTO tool_documents (agent_id, name, kind, server, cid, document, enabled, author, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (agent_id, name) DO UPDATE SET kind = excluded.kind, server = excluded.server, cid = excluded.cid,
			document = excluded.document, enabled = excluded.enabled, author = excluded.author, created_at = excluded.created_at, updated_at = excluded.updated_at`,
		agentID, d.Name, string(d.Kind), d.Server, s.CID, string(text), s.Enabled, string(s.Author), s.CreatedAt, s.UpdatedAt)
	if err != nil {
		return fmt.Errorf("write tool document %q: %w", d.Name, err)
	}
	return nil
}

// touch counts a change.
func touch(tx store.Tx, agentID string) error {
	_, err := tx.Exec(`INSERT INTO tool_shelves (agent_id, revision) VALUES (?, 1)
		ON CONFLICT (agent_id) DO UPDATE SET revision = tool_shelves.revision + 1`, agentID)
	if err != nil {
		return fmt.Errorf("count a change of a shelf: %w", err)
	}
	return nil
}

// Remove takes a document off the shelf, and tells whether it was there.
func Remove(tx store.Tx, agentID, name string) (bool, error) {
	n, err := tx.Exec(`DELETE FROM tool_documents WHERE agent_id = ? AND name = ?`, agentID, name)
	if err != nil {
		return false, fmt.Errorf("remove tool document %q: %w", name, err)
	}
	if n == 0 {
		return false, nil
	}
	return true, touch(tx, agentID)
}

// Clear removes everything of an agent.
func Clear(tx store.Tx, agentID string) error {
	for _, table := range []string{"tool_documents", "tool_shelves"} {
		if _, err := tx.Exec(`DELETE FROM `+table+` WHERE agent_id = ?`, agentID); err != nil {
			return fmt.Errorf("clear %s: %w", table, err)
		}
	}
	return nil
}

// Save writes an authored tool (spec §3.4 "SaveAgentTool"): without previous a new one, else in the place of the one of that
// name, which it may rename. It never overwrites another tool. Whoever changes what is written becomes its author, who only switches it
// does not. Errors are *fault.Error with the wire's texts.
func Save(tx store.Tx, agentID string, d Document, previous string, enabled bool, by Author, now int64) (Stored, error) {
	created := now
	var before Stored
	if previous != "" {
		var err error
		if before, err = authored(tx, agentID, previous); err != nil {
			return Stored{}, err
		}
		created = before.CreatedAt
	}
	if d.Name != previous {
		if _, taken, err := Find(tx, agentID, d.Name); err != nil || taken {
			if err == nil {
				err = fault.New(fault.Conflict, "A tool named %q already exists", d.Name)
			}
			return Stored{}, err
		}
		if previous == "" {
			if err := room(tx, agentID); err != nil {
				return Stored{}, err
			}
		} else if _, err := Remove(tx, agentID, previous); err != nil {
			return Stored{}, err
		}
	}
	cid, err := d.CID()
	if err != nil {
		return Stored{}, err
	}
	if cid == before.CID {
		by = before.Author
	}
	s := Stored{Document: d, CID: cid, Enabled: enabled, Author: by, CreatedAt: created, UpdatedAt: now}
	if err := insert(tx, agentID, &s); err != nil {
		return Stored{}, err
	}
	return s, touch(tx, agentID)
}

// authored finds a tool that people and agents may edit.
func authored(tx store.Tx, agentID, name string) (Stored, error) {
	s, found, err := Find(tx, agentID, name)
	switch {
	case err != nil:
		return Stored{}, err
	case !found:
		return Stored{}, fault.Missing("Tool %q not found", name)
	}
	return s, Editable(&s.Document)
}

// Editable says whether a document can be changed by hand: builtins follow the server, and the tools of an MCP server that server.
func Editable(d *Document) error {
	switch d.Kind {
	case Lambda:
		return nil
	case MCP:
		return fault.Invalid("%q belongs to the MCP server %q: change or disable the server instead", d.Name, d.Server)
	}
	return fault.Invalid("Builtin tools cannot be edited")
}

// room refuses one authored tool more than an agent may have.
func room(tx store.Tx, agentID string) error {
	var n int64
	if err := tx.QueryRow(`SELECT COUNT(*) FROM tool_documents WHERE agent_id = ? AND kind = ?`, agentID, string(Lambda)).Scan(&n); err != nil {
		return fmt.Errorf("count authored tools: %w", err)
	}
	if n >= MaxAuthored {
		return fault.New(fault.TooLarge, "An agent has at most %d tools of its own: delete one first", MaxAuthored)
	}
	return nil
}

// Reconcile makes an agent's documents of one kind and server those that are given: new ones are added, changed ones replaced,
// others removed, and what is the same stays untouched, as does whether a document is switched off. A name that a document of another kind holds is skipped and returned.
func Reconcile(tx store.Tx, agentID string, kind Kind, server string, documents []Document, now int64) (skipped []string, err error) {
	present, err := List(tx, agentID)
	if err != nil {
		return nil, err
	}
	foreign, own := map[string]bool{}, map[string]bool{}
	off := map[string]bool{}
	for i := range present {
		d := &present[i].Document
		if d.Kind == kind && d.Server == server {
			own[d.Name], off[d.Name] = true, !present[i].Enabled
		} else {
			foreign[d.Name] = true
		}
	}
	for i := range documents {
		d := documents[i]
		if foreign[d.Name] {
			skipped = append(skipped, d.Name)
			continue
		}
		delete(own, d.Name)
		if _, err := Put(tx, agentID, d, !off[d.Name], now); err != nil {
			return nil, err
		}
	}
	for name := range own {
		if _, err := Remove(tx, agentID, name); err != nil {
			return nil, err
		}
	}
	return skipped, nil
}
