package wire

import "encoding/json"

// Usage counts the tokens of a model; Input excludes cached ones.
type Usage struct {
	Input      int64 `json:"input"`
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	Total      int64 `json:"total"`
}

// RunUsage is a run's own usage and the sum over its ended children.
type RunUsage struct {
	Usage
	Children *ChildUsage `json:"children,omitempty"`
}

// ChildUsage sums the usage of ended descendants; Runs counts them.
type ChildUsage struct {
	Usage
	Runs int64 `json:"runs"`
}

// RunActivity is what a run does at this moment: starting, thinking, responding, tool or finalizing.
type RunActivity struct {
	Phase      string `json:"phase"`
	ToolName   string `json:"toolName,omitempty"`
	ToolCallID string `json:"toolCallId,omitempty"`
	Detail     string `json:"detail,omitempty"`
	OutputTail string `json:"outputTail,omitempty"`
}

// RunInfo is the public record of a run (spec §4).
type RunInfo struct {
	ID          string `json:"id"`
	Account     string `json:"account"`
	RootRunID   string `json:"rootRunId"`
	ParentRunID string `json:"parentRunId,omitempty"`
	// ParentToolCallID is the call of the parent that began this run; ContinuedFromRunID is the run that this one goes on with.
	ParentToolCallID   string `json:"parentToolCallId,omitempty"`
	ContinuedFromRunID string `json:"continuedFromRunId,omitempty"`
	Depth              int64  `json:"depth"`
	Kind               string `json:"kind"`
	AgentID            string `json:"agentId,omitempty"`
	SessionID          string `json:"sessionId,omitempty"`
	Origin             string `json:"origin"`
	Title              string `json:"title"`
	// PlanStepID and StepLabel are the step of the parent's plan that a child works on.
	PlanStepID    string `json:"planStepId,omitempty"`
	StepLabel     string `json:"stepLabel,omitempty"`
	ChildRunCount int64  `json:"childRunCount,omitempty"`
	Status        string `json:"status"`
	// SourceText is the script of a workflow, where one run is read.
	SourceText string `json:"sourceText,omitempty"`
	// Wait is what a waiting run waits for: the most urgent thing when there are several.
	Wait  *RunWait  `json:"wait,omitempty"`
	Plan  *RunPlan  `json:"plan,omitempty"`
	Error *RunError `json:"error,omitempty"`
	// UnmetObligations lists what a run that ended still owed.
	UnmetObligations []UnmetObligation `json:"unmetObligations,omitempty"`
	Usage            *RunUsage         `json:"usage,omitempty"`
	// Provider and Model are what an agent's run was executed on, absent before: the account's name of the provider, and the
	// provider's id of the model. They are Loam's own; clients of the protocol leave out what they do not know.
	Provider   string `json:"provider,omitempty"`
	Model      string `json:"model,omitempty"`
	CreatedAt  int64  `json:"createdAt"`
	StartedAt  int64  `json:"startedAt,omitempty"`
	FinishedAt int64  `json:"finishedAt,omitempty"`
	UpdatedAt  int64  `json:"updatedAt"`
}

// RunWait is what a run waits for (spec/agents-protocol.md §4 "RunWaitInfo"). Reason is children, timer, event or budget-pause.
type RunWait struct {
	Reason string `json:"reason"`
	// WakeAt is when the wait is over by itself, in milliseconds since the epoch.
	WakeAt int64 `json:"wakeAt,omitempty"`
	// PendingChildren is how many children are waited for.
	PendingChildren int64 `json:"pendingChildren,omitempty"`
	// Label says for people what is waited for, or why a run is paused.
	Label string `json:"label,omitempty"`
	// AnswerWith is the signal that ends a wait for an event. An approval is such a wait without one.
	AnswerWith string `json:"answerWith,omitempty"`
	// WaitID names a wait for an event. It is Loam's own.
	WaitID string `json:"waitId,omitempty"`
}

// ApprovalInfo is a call that a person is asked about, and the answer. Loam's own.
type ApprovalInfo struct {
	ID        string `json:"id"`
	Account   string `json:"account"`
	AgentID   string `json:"agentId"`
	SessionID string `json:"sessionId,omitempty"`
	RunID     string `json:"runId"`
	RootRunID string `json:"rootRunId"`
	// Call is the id of a tool call in the session's log, or the number of a call in the journal of a script.
	Call string `json:"call"`
	// Tool and Arguments are what will be called, exactly.
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	// InDoubt says that the server stopped while the call was carried out: it may have taken effect already.
	InDoubt bool `json:"inDoubt,omitempty"`
	// Status is pending, approved, rejected, or canceled when the run ended before there was an answer.
	Status    string `json:"status"`
	Note      string `json:"note,omitempty"`
	DecidedBy string `json:"decidedBy,omitempty"`
	CreatedAt int64  `json:"createdAt"`
	DecidedAt int64  `json:"decidedAt,omitempty"`
}

// RunError is why a run failed. Code is one of the wire's run error codes, such as provider-error.
type RunError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Stack has the places in the source of a script. Tool and CallSeq name the call whose failure a script did not catch, and Detail
	// is what that call told besides.
	Stack   string `json:"stack,omitempty"`
	Tool    string `json:"tool,omitempty"`
	CallSeq int64  `json:"callSeq,omitempty"`
	Detail  any    `json:"detail,omitempty"`
}

// UnmetObligation names what is owed: a typed result, or plan steps by their labels.
type UnmetObligation struct {
	Kind  string   `json:"kind"`
	Steps []string `json:"steps,omitempty"`
}

// RunPlan is a checklist of at most 100 steps.
type RunPlan struct {
	Title      string     `json:"title,omitempty"`
	Steps      []PlanStep `json:"steps"`
	OwnerRunID string     `json:"ownerRunId,omitempty"`
	// SettledAt is when every step had become done, failed or skipped.
	SettledAt int64 `json:"settledAt,omitempty"`
}

// PlanStep is one line of a plan; Status is pending, running, done, failed or skipped.
type PlanStep struct {
	ID         string `json:"id"`
	Label      string `json:"label"`
	Status     string `json:"status"`
	ResolvedBy string `json:"resolvedBy,omitempty"`
}
