package script

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/loam-agents/loam/internal/script/quickjs"
)

// MaxSource bounds a program, in bytes.
const MaxSource = 256 << 10

// Filename is what stacks and problems call a program.
const Filename = "workflow.js"

// Start is what the run of a script is started with.
type Start struct {
	Program *Program        `json:"program"`
	Input   json.RawMessage `json:"input,omitempty"`
	// Contract is what a script that a turn has started is held to; package spawn reads it.
	Contract json.RawMessage `json:"contract,omitempty"`
}

// Program is a script that may run. It is kept with its run, so that a later version of the server replays what this one began.
type Program struct {
	// Source is what was written, TypeScript or JavaScript.
	Source string `json:"source"`
	// Code is what runs.
	Code string `json:"code"`
	// Map takes places of Code back to Source, as a source map of version 3.
	Map string `json:"map"`
	// Engine names the engine that the program was checked with.
	Engine string `json:"engine"`
}

// maxPrograms is how many checked programs a Compiler remembers.
const maxPrograms = 128

// Compiler checks programs. It is safe for concurrent use.
type Compiler struct {
	program string
	mu      sync.Mutex
	known   map[string]*Program
	order   []string
}

// NewCompiler returns one that translates in processes of the executable named, whose main calls Main when it gets Argument and nothing else.
func NewCompiler(executable string) *Compiler {
	return &Compiler{program: executable, known: map[string]*Program{}}
}

// Compile translates and checks a program. The error is a *Refused with every problem when the program must not run,
// quickjs.ErrAbsent when this binary has no engine, and what starting a process or ctx led to.
func (c *Compiler) Compile(ctx context.Context, source string) (*Program, error) {
	if !quickjs.Available {
		return nil, quickjs.ErrAbsent
	}
	if len(source) > MaxSource {
		return nil, &Refused{[]Problem{{Message: fmt.Sprintf("the source has %d bytes, more than %d KiB", len(source), MaxSource>>10)}}}
	}
	sum := sha256.Sum256([]byte(source))
	key := hex.EncodeToString(sum[:])
	if p := c.remembered(key); p != nil {
		return p, nil
	}
	t, err := translateApart(ctx, c.program, source)
	if err != nil {
		return nil, err
	}
	if len(t.Problems) > 0 {
		return nil, &Refused{t.Problems}
	}
	p := &Program{Source: source, Code: t.Code, Map: t.Map, Engine: quickjs.Version}
	if err := check(p); err != nil {
		return nil, err
	}
	c.remember(key, p)
	return p, nil
}

func (c *Compiler) remembered(key string) *Program {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[key]
}

func (c *Compiler) remember(key string, p *Program) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[key] == nil {
		c.order = append(c.order, key)
	}
	c.known[key] = p
	if len(c.order) > maxPrograms {
		delete(c.known, c.order[0])
		c.order = c.order[1:]
	}
}
