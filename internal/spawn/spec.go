package spawn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/script"
	"github.com/loam-agents/loam/internal/script/quickjs"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// Spec is a child as a model or a script asks for it (seeds/000 "delegate").
type Spec struct {
	Title  string          `json:"title"`
	Brief  json.RawMessage `json:"brief"`
	Script string          `json:"script"`
	Input  json.RawMessage `json:"input"`
	// Prompt is the persona of an anonymous worker.
	Prompt         string          `json:"prompt"`
	Tools          *[]string       `json:"tools"`
	Output         json.RawMessage `json:"output"`
	Await          *bool           `json:"await"`
	Model          string          `json:"model"`
	ReasoningLevel string          `json:"reasoningLevel"`
	AgentID        json.RawMessage `json:"agentId"`

	// brief is what the child is told, and program what it runs.
	brief   string
	program *script.Program
}

// ParseSpec reads and normalises what was asked for: input stands for brief, and a prompt alone is the brief. The first problem is
// returned as fault.Invalid.
func ParseSpec(input json.RawMessage) (*Spec, error) {
	var s Spec
	if err := json.Unmarshal(input, &s); err != nil {
		return nil, fault.Invalid("The child could not be understood: %v", err)
	}
	for _, field := range []*json.RawMessage{&s.Brief, &s.Input, &s.Output, &s.AgentID} {
		if string(*field) == "null" {
			*field = nil
		}
	}
	if err := s.normalize(); err != nil {
		return nil, err
	}
	s.Title = title(s.Title, s.brief)
	return &s, s.check()
}

func (s *Spec) normalize() error {
	if s.Script != "" {
		if len(s.Brief) > 0 {
			return fault.Invalid("Give a brief for a model or a script, not both")
		}
		return nil
	}
	brief := s.Brief
	if len(brief) == 0 {
		brief = s.Input
	}
	if s.brief = markdown(brief); strings.TrimSpace(s.brief) == "" {
		s.brief, s.Prompt = s.Prompt, ""
	}
	if strings.TrimSpace(s.brief) == "" {
		return fault.Invalid("Give a brief: what the child is to do, complete in itself, or a script")
	}
	return nil
}

// markdown is a brief as the child reads it: text as it is, anything else as JSON in a fence.
func markdown(brief json.RawMessage) string {
	var text string
	if len(brief) == 0 || json.Unmarshal(brief, &text) == nil {
		return text
	}
	return "```json\n" + string(brief) + "\n```"
}

// title is what a child is called: what it was given, or the first line of its brief.
func title(given, brief string) string {
	if strings.TrimSpace(given) == "" {
		given = brief
	}
	line, _, _ := strings.Cut(strings.TrimSpace(given), "\n")
	line = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, line))
	if r := []rune(line); len(r) > maxTitle {
		line = string(r[:maxTitle-1]) + "…"
	}
	if line == "" {
		return "Script"
	}
	return line
}

// Detached tells whether nobody waits for the child.
func (s *Spec) Detached() bool { return s.Await != nil && !*s.Await }

func (s *Spec) check() error {
	switch {
	case len(s.AgentID) > 0:
		return fault.Invalid("A child always runs as you: agentId is not taken. Agents work together through documents and comments")
	case len(s.brief) > MaxBrief:
		return fault.New(fault.TooLarge, "The brief has %d bytes, at most %d KiB: put the rest into a file and name its address", len(s.brief), MaxBrief>>10)
	case len(s.Prompt) > MaxPersona:
		return fault.New(fault.TooLarge, "The prompt has %d bytes, at most %d KiB", len(s.Prompt), MaxPersona>>10)
	case s.Tools != nil && len(*s.Tools) > MaxTools:
		return fault.Invalid("tools names %d tools, at most %d", len(*s.Tools), MaxTools)
	case len(s.Output) > MaxSchema:
		return fault.New(fault.TooLarge, "The output schema has %d bytes, at most %d KiB", len(s.Output), MaxSchema>>10)
	case s.Model != "" && s.ReasoningLevel == "":
		return fault.Invalid("model needs a reasoningLevel beside it: off, or one of the model's levels")
	case s.Model == "" && s.ReasoningLevel != "":
		return fault.Invalid("reasoningLevel needs a model beside it: leave out both to use your own")
	}
	if err := s.checkDetached(); err != nil {
		return err
	}
	if s.Script != "" {
		return s.checkScript()
	}
	if len(s.Output) > 0 {
		return tooldoc.CheckSchema(s.Output, "output")
	}
	return nil
}

func (s *Spec) checkDetached() error {
	switch {
	case !s.Detached():
		return nil
	case s.Script != "":
		return fault.Invalid("A script is always awaited: leave out await")
	case len(s.Output) > 0 || s.Tools != nil:
		return fault.Invalid("A detached child (await: false) returns nothing and takes neither output nor tools")
	}
	return nil
}

func (s *Spec) checkScript() error {
	if s.Prompt != "" || s.Tools != nil || len(s.Output) > 0 || s.Model != "" {
		return fault.Invalid("A script takes a title and an input: prompt, tools, output and model are for a model child")
	}
	return nil
}

// Compile checks the script of a child that has one. It fails with fault.Invalid, which names every problem, and with fault.Unavailable
// on a server without the engine.
func (s *Spawner) Compile(ctx context.Context, spec *Spec) (err error) {
	if spec.Script == "" {
		return nil
	}
	spec.program, err = s.opts.Compile(ctx, spec.Script)
	if refused, ok := errors.AsType[*script.Refused](err); ok {
		return fault.Invalid("%s", refused.Error()).With("problems", refused.Problems)
	}
	if errors.Is(err, quickjs.ErrAbsent) {
		return fault.New(fault.Unavailable, "This server runs no scripts: its binary was built without the script engine")
	}
	if err != nil {
		return fmt.Errorf("compile a script: %w", err)
	}
	return nil
}
