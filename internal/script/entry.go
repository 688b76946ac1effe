package script

import (
	"encoding/json"
	"time"
)

// Kind says what an entry of a journal records (spec §9).
type Kind string

// The kinds. All but result, fired and event begin a group, and carry its key.
const (
	// KindCall is an effect that was begun: a tool call, or a child run.
	KindCall Kind = "call"
	// KindResult is what a call led to.
	KindResult Kind = "result"
	// KindTimer is a sleep, with the time of its end; KindFired is that it has ended.
	KindTimer Kind = "timer"
	KindFired Kind = "fired"
	// KindWait is a wait for an event; KindEvent is the event, or that none came in time.
	KindWait  Kind = "wait"
	KindEvent Kind = "event"
	// KindNow is a time that the program was told.
	KindNow Kind = "now"
	// KindLog, KindStep and KindPlan are what the program shows.
	KindLog  Kind = "log"
	KindStep Kind = "step"
	KindPlan Kind = "plan"
)

// Op tells the calls of tools from those of agents.
type Op string

// The operations of a call.
const (
	OpTool  Op = "tool"
	OpAgent Op = "agent"
)

// Entry is one record of a run's journal. Which fields it has depends on its kind; the names are those of the wire.
type Entry struct {
	Kind Kind `json:"kind"`
	// CallSeq numbers the groups of a journal from 1. The result of a call has the number of the call.
	CallSeq int64 `json:"callSeq"`
	// Key is what a group is found by when the program asks for the same thing again, after a restart.
	Key string `json:"key,omitempty"`

	Op          Op              `json:"op,omitempty"`
	Tool        string          `json:"tool,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	ChildRunID  string          `json:"childRunId,omitempty"`
	Description string          `json:"description,omitempty"`

	// Status is succeeded or failed, of a result.
	Status string          `json:"status,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Error  *Failure        `json:"error,omitempty"`

	// WakeAt is when a sleep ends, in milliseconds since the epoch.
	WakeAt int64 `json:"wakeAt,omitempty"`

	WaitID string          `json:"waitId,omitempty"`
	Match  json.RawMessage `json:"match,omitempty"`
	// TimeoutAt is when a wait gives up, in milliseconds since the epoch; zero is never.
	TimeoutAt int64 `json:"timeoutAt,omitempty"`
	// Label says for people what a wait waits for, or what a step does.
	Label string `json:"label,omitempty"`
	// Delivery is what a wait got; absent when its time was up.
	Delivery json.RawMessage `json:"delivery,omitempty"`

	// Value is the time that the program was told, in milliseconds since the epoch.
	Value int64 `json:"value,omitempty"`

	Level   string          `json:"level,omitempty"`
	Message string          `json:"message,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`

	StepID string `json:"stepId,omitempty"`
	// Phase is start or end, of a step; OK says at the end whether it succeeded.
	Phase string          `json:"phase,omitempty"`
	OK    *bool           `json:"ok,omitempty"`
	Plan  json.RawMessage `json:"plan,omitempty"`

	// Change is made in the transaction that appends the entry, see Journal.
	Change Change `json:"-"`
}

// Statuses of a result.
const (
	Succeeded = "succeeded"
	Failed    = "failed"
)

// Failure is why an effect, or a program, failed. A program gets it as an Error with these fields.
type Failure struct {
	Code      string          `json:"code"`
	Message   string          `json:"message"`
	Retryable bool            `json:"retryable,omitempty"`
	Detail    json.RawMessage `json:"detail,omitempty"`
	// Stack has the places in the source, of a program that failed.
	Stack string `json:"stack,omitempty"`
	// Tool and CallSeq name the call that failed, where a program hears of it or ends with it.
	Tool    string `json:"tool,omitempty"`
	CallSeq int64  `json:"callSeq,omitempty"`
}

// Error implements error.
func (f *Failure) Error() string { return f.Message }

// Codes of programs that fail by themselves (spec §9).
const (
	// CodeWorkflow is an exception that the program did not catch.
	CodeWorkflow = "workflow-error"
	// CodeDeadlock is a program that waits for something that nothing will bring about.
	CodeDeadlock = "workflow-deadlock"
	// CodeFuel is a program that computes for too long between two waits.
	CodeFuel = "fuel-exhausted"
	// CodeMemory is a program that wants more memory than it may have.
	CodeMemory = "memory-exhausted"
	// CodeJournal is a program that has caused more than a journal holds.
	CodeJournal = "journal-cap"
	// CodeDiverged is a program that asks for other things than before with the same answers.
	CodeDiverged = "workflow-diverged"
)

// Limits of one run.
const (
	// MaxEntries and MaxJournal bound a journal, in entries and in bytes of their JSON.
	MaxEntries = 5000
	MaxJournal = 8 << 20
	// Memory, Fuel and Computing are the limits of the realm between two waits: 64 MiB; turns of the engine's loops, which are about
	// two seconds of plain computing; and a bound on the clock for what takes long in few turns.
	Memory    = 64 << 20
	Fuel      = 300_000_000
	Computing = 30 * time.Second
	// MaxAtOnce bounds the calls of one script that are carried out at the same time; others wait for their turn.
	MaxAtOnce = 32
	// Resident is how long a sleep may be to be waited for in memory. A longer one parks the run.
	Resident = time.Minute
	// MaxResult bounds the output of a program, and every input and output that crosses ctx, in bytes of JSON.
	MaxResult = 1 << 20
)
