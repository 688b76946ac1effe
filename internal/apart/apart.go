// Package apart does work in a process of its own that foreign data could turn against this one: a few bytes of it make a parser use
// all of a stack, a memory or a processor, and no parser can be stopped in the middle.
//
// The process is the same executable, started again with one argument. It holds itself to its limits, reads the data from its
// standard input, answers in JSON, and its death is an error like any other.
//
// apart is part of tier 1 and imports nothing of Loam. Packages that read what strangers made define a Job each; main starts it.
package apart

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// Job is a kind of work and what it may use.
type Job struct {
	// Argument is the only argument of the process.
	Argument string
	// Memory bounds its data in bytes, CPU the time that it computes, and Wall how long it is waited for.
	Memory    uint64
	CPU, Wall time.Duration
}

// ErrDied says that the process ended without an answer, or not in time: the data was too much for it.
var ErrDied = errors.New("the process that reads the data died")

// Confine holds this process to the limits of the job: the kernel refuses memory, and ends it when its time is used up.
func (j Job) Confine() error {
	for resource, limit := range map[int]uint64{unix.RLIMIT_DATA: j.Memory, unix.RLIMIT_CPU: uint64(j.CPU / time.Second), unix.RLIMIT_CORE: 0} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("limit the process: %w", err)
		}
	}
	return nil
}

// Run starts the executable for the job, with nothing of this process's environment, and decodes its answer. Errors: ErrDied, that of
// ctx, and what starting a process led to.
func (j Job) Run(ctx context.Context, executable string, in io.Reader, answer any) error {
	inner, cancel := context.WithTimeout(ctx, j.Wall)
	defer cancel()
	cmd := exec.CommandContext(inner, executable, j.Argument)
	cmd.Env = []string{"GOTRACEBACK=none"}
	cmd.Stdin = in
	var out bytes.Buffer
	cmd.Stdout = &out
	// Waiting ends even when something else holds its pipes.
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		_, died := errors.AsType[*exec.ExitError](err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case died || inner.Err() != nil:
			return fmt.Errorf("%w: %w", ErrDied, err)
		}
		return fmt.Errorf("start %s: %w", j.Argument, err)
	}
	if err := json.Unmarshal(out.Bytes(), answer); err != nil {
		return fmt.Errorf("read the answer of %s: %w", j.Argument, err)
	}
	return nil
}
