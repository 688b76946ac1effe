package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// HelperVariable makes a process of this program translate one script and end. It is for Compiler, not for people.
const HelperVariable = "LOAM_SCRIPT_HELPER"

// What a translation may use. A kilobyte takes about a millisecond.
const (
	helperStack   = 64 << 20
	helperMemory  = 512 << 20
	helperCPU     = 3
	helperTimeout = 10 * time.Second
)

// Helper translates a script and ends the process, when it was started for that. It is the first thing that main does.
func Helper() {
	if os.Getenv(HelperVariable) == "" {
		return
	}
	debug.SetMaxStack(helperStack)
	debug.SetMemoryLimit(helperMemory)
	err := errors.Join(
		syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: helperCPU, Max: helperCPU}),
		syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: 4 * helperMemory, Max: 4 * helperMemory}),
	)
	if err == nil {
		err = answer(os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// errTooHard is told of a source on which the helper died.
const errTooHard = "the source is too deeply nested or takes too long to read"

// translateApart runs translate in a process of its own, with nothing of this one's environment.
func translateApart(ctx context.Context, program, source string) (translation, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, helperTimeout, errors.New("the helper did not end in time"))
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = []string{HelperVariable + "=1", "GOMAXPROCS=1"}
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
