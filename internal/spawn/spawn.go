package spawn

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/provider"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/script"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Request says for whom a child is started.
type Request struct {
	// Parent is the run under which it is started, and Call what asks for it there: the id of a tool call, or the number of a
	// script's call. A call starts one child.
	Parent, Call string
	// Account and Agent are as whom the child acts, in the agent's Version. Definition is what the parent may do, contract applied.
	Account, Agent string
	Version        int64
	Definition     wire.AgentDefinition
	Spec           *Spec
}

// RootBudget is the budget of a run that a person or a trigger starts: that of the session's thoroughness, else of the agent's.
func RootBudget(s *sessionlog.Session, def wire.AgentDefinition) runs.Budget {
	if s != nil && s.Thoroughness != "" {
		return runs.BudgetOf(s.Thoroughness)
	}
	return runs.BudgetOf(def.Thoroughness)
}

// Child is what was started.
type Child struct {
	Run, Session, Title string
	// Ended says that the call had started the child before, and that it has ended.
	Ended bool
}

// Spawn starts a child in a transaction of the caller, which also registers what waits for it. It fails with fault.BudgetExceeded at the
// limits of the parent's tree, with fault.ValidationFailed for a model that the agent has not enabled, and with what Opened says; then
// the transaction must be given up.
func (s *Spawner) Spawn(tx store.Tx, req Request) (Child, error) {
	before, ok, err := runs.ChildOf(tx, req.Parent, req.Call)
	if err != nil || ok {
		return childOf(&before), err
	}
	parent, err := runs.Get(tx, req.Parent)
	if err != nil {
		return Child{}, err
	}
	budget, err := spend(tx, &parent, req.Spec)
	if err != nil {
		return Child{}, err
	}
	contract, err := s.contract(tx, &parent, &req)
	if err != nil {
		return Child{}, err
	}
	opener, err := conversation(tx, &parent)
	if err != nil {
		return Child{}, err
	}
	next := runs.Spec{
		ID: s.opts.IDs(), Account: req.Account, Parent: &parent, Kind: runs.KindAgent, Agent: req.Agent, AgentVersion: req.Version,
		Origin: origin(&parent), ParentCall: req.Call, Title: req.Spec.Title, Lane: parent.Lane, MaxAttempts: attempts, Budget: budget,
	}
	if step := runningStep(&parent, opener); step != nil {
		next.PlanStep, next.StepLabel = step.ID, step.Label
	}
	if req.Spec.program != nil {
		next.Kind, next.MaxAttempts = runs.KindWorkflow, 1
		next.Input, err = scriptInput(req.Spec, contract)
	} else {
		next.Session, next.Input, err = s.open(tx, &req, next.ID, contract, opener)
	}
	if err != nil {
		return Child{}, err
	}
	run, err := s.opts.Queue().Enqueue(tx, next)
	return childOf(&run), err
}

func childOf(r *runs.Run) Child { return Child{r.ID, r.Session, r.Title, r.Status.Terminal()} }

// origin is who causes a child.
func origin(parent *runs.Run) string {
	if parent.Kind == runs.KindWorkflow {
		return "workflow"
	}
	return "agent"
}

// spend is the budget of one more child, or a refusal that says what to do instead.
func spend(tx store.Tx, parent *runs.Run, spec *Spec) (runs.Budget, error) {
	budget := parent.Budget.OrNormal()
	if budget.Leaf() {
		return budget, fault.New(fault.BudgetExceeded, "The work is %d levels deep, and no deeper: do this yourself", budget.Depth).With("maxDepth", budget.MaxDepth)
	}
	n, err := runs.Started(tx, parent.ID)
	if err != nil {
		return budget, err
	}
	if n >= budget.MaxChildren {
		return budget, fault.New(fault.BudgetExceeded, "%s", exhausted(budget.MaxChildren)).With("maxChildren", budget.MaxChildren)
	}
	if spec.program == nil {
		budget.Depth++
	}
	return budget, nil
}

// exhausted tells a run that has no child left how to go on, and how to need fewer.
func exhausted(most int64) string {
	return fmt.Sprintf("All %d children of this run are used: finish the rest alone now. Next time give each child several items of a long "+
		"list in its brief, or start one script, whose children are counted apart", most)
}

// contract is what a child is held to: what its parent is, narrowed to what was asked for.
func (s *Spawner) contract(tx store.Tx, parent *runs.Run, req *Request) (Contract, error) {
	above, err := Of(tx, parent)
	if err != nil {
		return Contract{}, err
	}
	c := Contract{
		Persona: req.Spec.Prompt, Tools: above.Tools, Servers: above.Servers, Output: req.Spec.Output, Detached: req.Spec.Detached(),
	}
	if req.Spec.Tools == nil {
		return c, nil
	}
	return c, s.narrow(tx, &c, req.Agent, req.Definition, *req.Spec.Tools)
}

// conversation is the session of a run, or of the nearest run above it that has one; nil when none has, as under a script that a
// person started.
func conversation(tx store.Tx, r *runs.Run) (*sessionlog.Session, error) {
	for r.Session == "" && r.Parent != "" {
		above, err := runs.Get(tx, r.Parent)
		if err != nil {
			return nil, err
		}
		r = &above
	}
	if r.Session == "" {
		return nil, nil
	}
	s, err := sessionlog.Get(tx, r.Session)
	return &s, err
}

// runningStep is the step of a turn's plan that its children work on: the only one that is running.
func runningStep(parent *runs.Run, session *sessionlog.Session) *wire.PlanStep {
	if parent.Kind != runs.KindAgent || session == nil || session.Plan == nil {
		return nil
	}
	var found *wire.PlanStep
	for i := range session.Plan.Steps {
		if step := &session.Plan.Steps[i]; step.Status == "running" {
			if found != nil {
				return nil
			}
			found = step
		}
	}
	return found
}

func scriptInput(spec *Spec, c Contract) (json.RawMessage, error) {
	contract, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode a contract: %w", err)
	}
	if len(spec.Input) > script.MaxResult {
		return nil, fault.New(fault.TooLarge, "The input of a script has %d bytes, at most %d KiB", len(spec.Input), script.MaxResult>>10)
	}
	input, err := json.Marshal(script.Start{Program: spec.program, Input: spec.Input, Contract: contract})
	if err != nil {
		return nil, fmt.Errorf("encode the input of a script: %w", err)
	}
	return input, nil
}

// turnInput is the input of the first run of a child's session, as the engine reads it.
type turnInput struct {
	Kind     string    `json:"kind"`
	FirstSeq int64     `json:"firstSeq"`
	LastSeq  int64     `json:"lastSeq"`
	Contract *Contract `json:"contract"`
}

// open makes the session of a model child: whoever opened the conversation above it has opened this one, and its first message is the
// brief, word for word.
func (s *Spawner) open(tx store.Tx, req *Request, runID string, c Contract, above *sessionlog.Session) (session string, input json.RawMessage, err error) {
	override, err := s.model(tx, req)
	if err != nil {
		return "", nil, err
	}
	params := sessionlog.CreateParams{Account: req.Account, Agent: req.Agent, Title: req.Spec.Title, ModelOverride: override, Run: runID}
	if above != nil {
		params.Parent, params.CreatedBy = above.ID, above.CreatedBy
	} else {
		params.CreatedBy = req.Account
	}
	made, err := s.opts.Log.Create(tx, params)
	if err != nil {
		return "", nil, err
	}
	if err := s.opts.Opened(tx, req.Account); err != nil {
		return "", nil, err
	}
	events, err := s.opts.Log.Append(tx, made.ID, nil, sessionlog.Entry{Payload: wire.MessageEvent{
		Type: sessionlog.TypeMessage, Role: "user", Content: req.Spec.brief, RawMarkdown: req.Spec.brief,
	}})
	if err != nil {
		return "", nil, err
	}
	input, err = json.Marshal(turnInput{Kind: "delegate", FirstSeq: events[0].Seq, LastSeq: events[0].Seq, Contract: &c})
	if err != nil {
		return "", nil, fmt.Errorf("encode run input: %w", err)
	}
	return made.ID, input, nil
}

// model resolves the model that a child asked for among those that its agent has enabled, and the one it works with: as
// "provider/model", or as a model's id that only one of them has.
func (s *Spawner) model(tx store.Tx, req *Request) (*wire.ModelOverride, error) {
	spec, def := req.Spec, &req.Definition
	if spec.Model == "" {
		return nil, nil
	}
	enabled := append([]wire.ModelChoice{{Provider: def.ModelProvider, Model: def.Model}}, def.EnabledModels...)
	var found []wire.ModelChoice
	for _, m := range enabled {
		if m.Provider+"/"+m.Model == spec.Model {
			found = []wire.ModelChoice{m}
			break
		}
		if m.Model == spec.Model && !slices.Contains(found, m) {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		return nil, fault.Invalid("model must be one of your models, as provider/model: %s", strings.Join(ModelNames(*def), ", "))
	}
	level := spec.ReasoningLevel
	if level == "off" {
		level = ""
	}
	if err := agent.CheckModel(tx, req.Account, found[0].Provider, found[0].Model, level, provider.Has, s.opts.Levels); err != nil {
		return nil, err
	}
	return &wire.ModelOverride{Provider: found[0].Provider, Model: found[0].Model, ReasoningLevel: level}, nil
}

// ModelNames are the models of an agent as provider/model, each once, its own first.
func ModelNames(def wire.AgentDefinition) []string {
	out := []string{def.ModelProvider + "/" + def.Model}
	for _, m := range def.EnabledModels {
		if name := m.Provider + "/" + m.Model; !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
