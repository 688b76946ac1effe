// Package process builds the server as a program of its own and runs it, for tests that kill it and benchmarks that measure
// it from outside. It is test support.
package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const program = "github.com/loam-agents/loam/internal/crashtest/loamd"

// Program is a built server.
type Program struct{ path string }

// Build builds the server into a folder, with the engine of scripts, without cgo and without the race detector: what is killed and measured is what is
// released. The working directory must lie within the module.
func Build(ctx context.Context, dir string) (Program, error) {
	p := Program{filepath.Join(dir, "loamd")}
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-tags", "script", "-o", p.path, program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return Program{}, fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return p, nil
}

// Options of a start.
type Options struct {
	// DataDir is required.
	DataDir string
	// DatabaseURL is PostgreSQL's; SQLite when empty.
	DatabaseURL string
	// CrashAt kills the process at a named point, "name" or "name:n" (server.Config.CrashAt).
	CrashAt string
	// Drain bounds the wait for turns at a clean stop; the server's default when zero.
	Drain time.Duration
	// Workers is how many runs execute at once; the server's default when zero.
	Workers int
	// Log receives what the process writes to standard error; discarded when nil.
	Log io.Writer
}

// Process is a server that was started. Kill or Terminate must end it.
type Process struct {
	cmd   *exec.Cmd
	stdin io.Closer

	ready  chan struct{}
	exited chan struct{}
	kill   sync.Once
	// url and debug are set before ready is closed, failure before exited is.
	url, debug string
	failure    error
}

// Launch starts a process and does not wait for it to serve.
func (p Program) Launch(o Options) (*Process, error) {
	args := []string{"-data", o.DataDir, "-database", o.DatabaseURL, "-crash-at", o.CrashAt, "-drain", o.Drain.String(), "-workers", strconv.Itoa(o.Workers)}
	cmd := exec.Command(p.path, args...)
	cmd.Stderr = o.Log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	run := &Process{cmd: cmd, stdin: stdin, ready: make(chan struct{}), exited: make(chan struct{})}
	go run.watch(out)
	return run, nil
}

// watch reads the line that tells the addresses, and then waits for the end.
func (p *Process) watch(out io.Reader) {
	defer close(p.exited)
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if fields := strings.Fields(line); err == nil && len(fields) == 3 {
		p.url, p.debug = fields[1], fields[2]
		close(p.ready)
	}
	_, _ = io.Copy(io.Discard, lines)
	p.failure = p.cmd.Wait()
}

// Start starts a process and returns when it serves.
func (p Program) Start(ctx context.Context, o Options) (*Process, error) {
	run, err := p.Launch(o)
	if err != nil {
		return nil, err
	}
	select {
	case <-run.ready:
		return run, nil
	case <-run.exited:
		return nil, fmt.Errorf("the server ended before it served: %w", errors.Join(run.failure, run.stdin.Close()))
	case <-ctx.Done():
		run.Kill()
		return nil, ctx.Err()
	}
}

// URL is the server's address; it is known once Ready is closed.
func (p *Process) URL() string { return p.url }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Kill ends the process with SIGKILL and waits for its end. More calls do nothing.
func (p *Process) Kill() {
	p.kill.Do(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
		_ = p.stdin.Close()
	})
}

// Terminate asks the process to end with SIGTERM, and waits until it has or ctx ends. The error tells of any other end than a
// clean one.
func (p *Process) Terminate(ctx context.Context) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.exited:
		return p.failure
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Signaled tells, after Exited, whether SIGKILL ended the process.
func (p *Process) Signaled() bool {
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// Cost is what a process has used since its start.
type Cost struct {
	// Commits, Writes and Retries are those of store.Stats.
	Commits, Writes, Retries int64
	// CPU is user and system time, in nanoseconds.
	CPU time.Duration
	// Resident is the memory held now, in bytes.
	Resident int64
}

// Cost asks the process what it has used.
func (p *Process) Cost(ctx context.Context) (Cost, error) {
	var c Cost
	err := p.get(ctx, "/cost", func(body io.Reader) error { return json.NewDecoder(body).Decode(&c) })
	return c, err
}

// Profile writes a CPU profile of the next seconds to w.
func (p *Process) Profile(ctx context.Context, seconds int, w io.Writer) error {
	return p.get(ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds), func(body io.Reader) error {
		_, err := io.Copy(w, body)
		return err
	})
}

func (p *Process) get(ctx context.Context, path string, read func(io.Reader) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.debug+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return errors.Join(read(resp.Body), resp.Body.Close())
}
