package script

import (
	"fmt"
	"strings"
)

// Problem is a reason not to run a program, with its place in the source.
type Problem struct {
	// Line counts from 1, Column from 1, in characters as the source has them.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Message says what is wrong and what to do instead, in one line.
	Message string `json:"message"`
}

// String is "line 3, column 9: …".
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Message
	}
	return fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Message)
}

// Refused is a program that must not run. All its problems are named at once.
type Refused struct{ Problems []Problem }

// Error implements error.
func (r *Refused) Error() string {
	lines := make([]string, len(r.Problems))
	for i, p := range r.Problems {
		lines[i] = p.String()
	}
	return "The script cannot run: " + strings.Join(lines, "\n")
}

// Ways that the texts of more than one refusal name.
const (
	useNow   = "scripts replay, so they have no clock; use ctx.now(), which gives milliseconds"
	useSleep = "scripts have no timers; use await ctx.sleep(milliseconds)"
	useCall  = "scripts reach the network through the agent's tools; use await ctx.call(\"read\", {address: \"https://…\"})"
	useCtx   = "scripts have no surroundings; everything they may use is in ctx"
	noRandom = "scripts replay, so they have no randomness; derive what you need from the input or from ctx.runId"
	noImport = "a script is one file; what it needs from outside comes through ctx.call"
	noEval   = "scripts do not make code out of text"
)

// refused are the names that a program may not use unless it declares them itself, with what to do instead. They are replaced on
// the parsed program, so that a name in a text, a comment or a property is nobody's business.
var refused = map[string]string{
	"Date": useNow, "performance": useNow, "Temporal": useNow,
	"Math.random": noRandom, "crypto": noRandom,
	"setTimeout": useSleep, "setInterval": useSleep, "setImmediate": useSleep, "requestAnimationFrame": useSleep,
	"clearTimeout": useSleep, "clearInterval": useSleep, "clearImmediate": useSleep,
	"fetch": useCall, "XMLHttpRequest": useCall, "WebSocket": useCall, "EventSource": useCall,
	"eval": noEval, "Function": noEval,
	"require": noImport, "importScripts": noImport, "import.meta": noImport,
	"process": useCtx, "globalThis": useCtx, "window": useCtx, "self": useCtx, "global": useCtx, "Deno": useCtx, "Bun": useCtx,
}
