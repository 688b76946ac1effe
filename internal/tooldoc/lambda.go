package tooldoc

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
)

// Limits of an authored tool in bytes (spec §11), except for those that name what they count.
const (
	MaxDescription = 16 << 10
	MaxSource      = 256 << 10
	// MaxSummary is in characters.
	MaxSummary = 140
	// MaxAuthored bounds the authored tools of an agent.
	MaxAuthored = 256
)

// The languages of a lambda.
const (
	TypeScript = "typescript"
	Python     = "python"
)

var lambdaName = regexp.MustCompile(`^[a-z][a-z0-9_-]{1,63}$`)

// Authored is a tool as its author writes it.
type Authored struct {
	Name        string          `json:"name"`
	Summary     string          `json:"summary,omitempty"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input,omitempty"`
	Output      json.RawMessage `json:"output,omitempty"`
	Source      string          `json:"source"`
	Runtime     string          `json:"runtime,omitempty"`
}

// NewLambda checks an authored tool and makes its document. reserved tells whether a name belongs to a verb or a builtin, which
// nobody can replace. Errors are fault.ValidationFailed and say what is wrong.
func NewLambda(a Authored, reserved func(name string) bool) (Document, error) {
	d := Document{
		Name: a.Name, Kind: Lambda, Description: strings.TrimSpace(a.Description), Input: present(a.Input), Output: present(a.Output),
		Source: a.Source, Runtime: TypeScript,
	}
	if a.Runtime == Python {
		d.Runtime = Python
	}
	switch {
	case !lambdaName.MatchString(a.Name):
		return Document{}, fault.Invalid("Tool name is invalid: 2 to 64 characters, lower-case letters, digits, - and _, beginning with a letter")
	case reserved(a.Name):
		return Document{}, fault.Invalid("%q is the name of a builtin tool or verb, which cannot be replaced", a.Name)
	case d.Description == "":
		return Document{}, fault.Invalid("Tool description is required")
	case len(d.Description) > MaxDescription:
		return Document{}, fault.Invalid("Tool description is too large: at most %d bytes", MaxDescription)
	case strings.TrimSpace(a.Source) == "":
		return Document{}, fault.Invalid("Tool source is required")
	case len(a.Source) > MaxSource:
		return Document{}, fault.Invalid("Tool source is too large: at most %d bytes", MaxSource)
	}
	if d.Input == nil {
		d.Input = json.RawMessage(`{"type":"object"}`)
	}
	if err := CheckSchema(d.Input, "input"); err != nil {
		return Document{}, err
	}
	if d.Output != nil {
		if err := CheckSchema(d.Output, "output"); err != nil {
			return Document{}, err
		}
	}
	d.Summary = Summarize(a.Summary, d.Description)
	return d, nil
}

// present is a schema, or nil when it is absent or null.
func present(schema json.RawMessage) json.RawMessage {
	if s := strings.TrimSpace(string(schema)); s == "" || s == "null" {
		return nil
	}
	return schema
}

// Summarize is the line of a tool: what was given, or the first sentence of its description, on one line and bounded.
func Summarize(given, description string) string {
	if s := oneLine(given); s != "" && len([]rune(s)) <= MaxSummary {
		return s
	}
	s := oneLine(given)
	if s == "" {
		s = oneLine(firstSentence(description))
	}
	if r := []rune(s); len(r) > MaxSummary {
		return strings.TrimSpace(string(r[:MaxSummary-3])) + "…"
	}
	return s
}

func firstSentence(text string) string {
	text = strings.TrimSpace(text)
	end := len(text)
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		end = i
	}
	for _, mark := range []string{". ", "! ", "? "} {
		if i := strings.Index(text[:end], mark); i >= 0 {
			end = i + 1
		}
	}
	return text[:end]
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
