package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Argument makes a process of this program translate one script and end. It is for Compiler, not for people.
const Argument = "internal-translate-script"

// What a translation may use. A kilobyte of source takes about a millisecond.
const (
	helperStack   = 64 << 20
	helperMemory  = 512 << 20
	helperCPU     = 3
	helperTimeout = 10 * time.Second
)

// Main is the whole of that process: a script in, its translation out. It returns the exit code.
func Main(in io.Reader, out io.Writer) int {
	debug.SetMaxStack(helperStack)
	for resource, limit := range map[int]uint64{unix.RLIMIT_DATA: helperMemory, unix.RLIMIT_CPU: helperCPU, unix.RLIMIT_CORE: 0} {
		if unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}) != nil {
			return 1
		}
	}
	if answer(in, out) != nil {
		return 1
	}
	return 0
}

// errTooHard is told of a source on which the helper died.
const errTooHard = "the source is too deeply nested or takes too long to read"

// translateApart runs translate in a process of its own, with nothing of this one's environment.
func translateApart(ctx context.Context, program, source string) (translation, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, helperTimeout, errors.New("the helper did not end in time"))
	defer cancel()
	cmd := exec.CommandContext(ctx, program, Argument)
	cmd.Env = []string{"GOMAXPROCS=1"}
	cmd.Stdin = strings.NewReader(source)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if _, died := errors.AsType[*exec.ExitError](err); died && context.Cause(ctx) == nil {
			return translation{Problems: []Problem{{Message: errTooHard}}}, nil
		}
		return translation{}, fmt.Errorf("translate a script: %w", err)
	}
	var out translation
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		return translation{}, fmt.Errorf("translate a script: %w", err)
	}
	return out, nil
}
