package script

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/go-sourcemap/sourcemap"

	"github.com/loam-agents/loam/internal/script/quickjs"
)

//go:embed prelude.js
var prelude string

// image is what all realms start from. It never changes, so that the processes of a server make it once, when it is needed.
var image = sync.OnceValues(func() (*quickjs.Image, error) { return quickjs.NewImage("prelude.js", prelude) })

// limits are those of all realms.
var limits = quickjs.Limits{Memory: Memory, Fuel: Fuel, Time: Computing}

// thrown is an exception as the prelude tells it.
type thrown struct {
	Name      string          `json:"name"`
	Message   string          `json:"message"`
	Stack     string          `json:"stack"`
	Code      string          `json:"code"`
	Retryable bool            `json:"retryable"`
	Detail    json.RawMessage `json:"detail"`
	Tool      string          `json:"tool"`
	CallSeq   int64           `json:"callSeq"`
}

// failure is the end of a program by an exception. One that came from an effect keeps its code.
func (t *thrown) failure(p *Program) *Failure {
	if t.Name == "InternalError" && t.Message == "out of memory" {
		return tooLarge()
	}
	f := &Failure{Code: t.Code, Message: t.Message, Retryable: t.Retryable, Stack: p.places(t.Stack), Tool: t.Tool, CallSeq: t.CallSeq}
	if string(t.Detail) != "null" {
		f.Detail = t.Detail
	}
	if f.Code == "" {
		f.Code = CodeWorkflow
	}
	if t.Name != "" && t.Name != "ScriptError" {
		f.Message = t.Name + ": " + t.Message
	}
	return f
}

// died turns what the engine says of a realm that cannot go on into the end of its program; nil when the program is not to blame.
func died(p *Program, err error) *Failure {
	if e, ok := errors.AsType[*quickjs.Exception](err); ok {
		return &Failure{Code: CodeWorkflow, Message: e.Message, Stack: p.places(e.Stack)}
	}
	switch {
	case errors.Is(err, quickjs.ErrFuel):
		return &Failure{Code: CodeFuel, Message: "The script computed for too long without awaiting anything: split the work, or give the agent's tools the heavy part."}
	case errors.Is(err, quickjs.ErrMemory), errors.Is(err, quickjs.ErrTrap):
		return tooLarge()
	}
	return nil
}

func tooLarge() *Failure {
	return &Failure{Code: CodeMemory, Message: fmt.Sprintf("The script needs more memory than the %d MiB it may have.", Memory>>20)}
}

// check evaluates a program once, without running what it exports.
func check(p *Program) error {
	img, err := image()
	if err != nil {
		return err
	}
	kind := ""
	var failed *thrown
	r := img.New(func(what, payload string) (string, bool) {
		switch what {
		case "kind":
			kind = payload
		case "failed":
			failed = &thrown{}
			_ = json.Unmarshal([]byte(payload), failed)
		}
		return "", false
	}, limits)
	err = r.Module(Filename, p.Code)
	if err == nil {
		err = r.Call("__kind")
	}
	switch f := died(p, err); {
	case f != nil:
		return refusedFor(f)
	case err != nil:
		return err
	case failed != nil:
		return refusedFor(failed.failure(p))
	case kind != "async":
		return &Refused{[]Problem{{Message: "the default export must be an async function of (input, ctx); it is a " + kind}}}
	}
	return nil
}

var place = regexp.MustCompile(regexp.QuoteMeta(Filename) + `:(\d+):(\d+)`)

// refusedFor is the refusal of a program that fails before it runs.
func refusedFor(f *Failure) *Refused {
	p := Problem{Message: f.Message}
	if at := place.FindStringSubmatch(f.Stack); at != nil {
		p.Line, _ = strconv.Atoi(at[1])
		p.Column, _ = strconv.Atoi(at[2])
	}
	return &Refused{[]Problem{p}}
}

// places takes a stack from the code that ran to the source that was written, and leaves out the lines of our own.
func (p *Program) places(stack string) string {
	if stack == "" {
		return ""
	}
	source, err := sourcemap.Parse("", []byte(p.Map))
	if err != nil {
		return stack
	}
	var out []string
	for line := range strings.Lines(stack) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.Contains(line, "prelude.js") || strings.Contains(line, "(native)") {
			continue
		}
		out = append(out, place.ReplaceAllStringFunc(line, func(at string) string {
			m := place.FindStringSubmatch(at)
			l, _ := strconv.Atoi(m[1])
			c, _ := strconv.Atoi(m[2])
			_, _, line, column, ok := source.Source(l, c-1)
			if !ok {
				return at
			}
			return fmt.Sprintf("%s:%d:%d", Filename, line, column+1)
		}))
	}
	return strings.Join(out, "\n")
}
