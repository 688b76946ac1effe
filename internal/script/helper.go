package script

import (
	"context"
	"errors"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/loam-agents/loam/internal/apart"
)

// Argument makes a process of this program translate one script and end. It is for Compiler, not for people.
const Argument = "internal-translate-script"

// job is what a translation may use. A kilobyte of source takes about a millisecond.
var job = apart.Job{Argument: Argument, Memory: 512 << 20, CPU: 3 * time.Second, Wall: 10 * time.Second}

// helperStack bounds the recursion of the translator, in bytes.
const helperStack = 64 << 20

// Main is the whole of that process: a script in, its translation out. It returns the exit code.
func Main(in io.Reader, out io.Writer) int {
	debug.SetMaxStack(helperStack)
	if job.Confine() != nil || answer(in, out) != nil {
		return 1
	}
	return 0
}

// errTooHard is told of a source on which the helper died.
const errTooHard = "the source is too deeply nested or takes too long to read"

// translateApart runs translate in a process of its own.
func translateApart(ctx context.Context, program, source string) (out translation, err error) {
	err = job.Run(ctx, program, strings.NewReader(source), &out)
	if errors.Is(err, apart.ErrDied) {
		return translation{Problems: []Problem{{Message: errTooHard}}}, nil
	}
	return out, err
}
