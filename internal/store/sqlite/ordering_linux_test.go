package sqlite_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What the tracer saw of a child that writes and acknowledges one write after another.
type verdict struct {
	// Acks is the number of acknowledgements that reached the standard output.
	Acks int
	// Hasty is the number of them that had no flushed commit of their own before them.
	Hasty int
	// Flushes is the number of fsync and fdatasync calls on the write-ahead log.
	Flushes int
}

// The system calls of a real process are watched: a killed process loses nothing that the kernel has, so only this shows
// that a commit is flushed before anybody hears of it.
func TestNoAcknowledgementPrecedesTheFlushOfItsCommit(t *testing.T) {
	t.Parallel()
	v := traced(t, "trace")
	if v.Acks != 50 || v.Hasty != 0 || v.Flushes < 50 {
		t.Errorf("%+v; want 50 acknowledgements, none hasty, and a flush for each", v)
	}
}

func TestTheTracerSeesAnAcknowledgementThatComesTooEarly(t *testing.T) {
	t.Parallel()
	v := traced(t, "trace hasty")
	// The very first one comes after the flushed commits of opening the store.
	if v.Acks != 100 || v.Hasty < 49 {
		t.Errorf("%+v; want 100 acknowledgements and half of them hasty", v)
	}
}

func traced(t *testing.T, role string) verdict {
	t.Helper()
	cmd, err := childCommand(role, filepath.Join(t.TempDir(), "loam.db"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var v verdict
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return v
}

// trace runs a child in a role and prints the verdict. It is a process of its own because it waits for all children.
func trace(path, role string) error {
	runtime.LockOSThread()
	cmd, err := childCommand(role, path)
	if err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	go func() { _, _ = read.WriteTo(discard{}) }()
	cmd.Stdout = write
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	t := tracer{pid: cmd.Process.Pid, entered: map[int]call{}}
	if err := t.run(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(t.verdict)
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

type tracer struct {
	pid     int
	verdict verdict
	entered map[int]call
	// written counts writes to the log, flushed how many of them a completed flush covers, told how many there were at
	// the last acknowledgement.
	written, flushed, told int
}

// call is a system call that a thread is in.
type call struct {
	kind    callKind
	written int
}

type callKind int

const (
	other callKind = iota
	walWrite
	walFlush
)

func (t *tracer) run() error {
	var status unix.WaitStatus
	if _, err := unix.Wait4(t.pid, &status, unix.WALL, nil); err != nil {
		return fmt.Errorf("wait for the start: %w", err)
	}
	const options = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_EXITKILL
	if err := unix.PtraceSetOptions(t.pid, options); err != nil {
		return fmt.Errorf("set options: %w", err)
	}
	if err := unix.PtraceSyscall(t.pid, 0); err != nil {
		return fmt.Errorf("continue: %w", err)
	}
	for {
		tid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("wait: %w", err)
		}
		switch {
		case tid == t.pid && status.Exited():
			if status.ExitStatus() != 0 {
				return fmt.Errorf("the child exited with %d", status.ExitStatus())
			}
			return nil
		case status.Stopped():
			t.stopped(tid, status)
		}
	}
}

// stopped looks at one stop of a thread and lets it go on. A thread that is gone by then is no error.
func (t *tracer) stopped(tid int, status unix.WaitStatus) {
	signal := status.StopSignal()
	deliver := 0
	switch signal {
	case unix.SIGTRAP | 0x80:
		t.atSyscall(tid)
	case unix.SIGTRAP, unix.SIGSTOP:
	default:
		deliver = int(signal)
	}
	_ = unix.PtraceSyscall(tid, deliver)
}

// syscallInfo is struct ptrace_syscall_info of the kernel, alike on every architecture.
type syscallInfo struct {
	op   uint8
	_    [3]uint8
	arch uint32
	_    [2]uint64
	// data is the number and six arguments on entry, the result and an error flag on exit.
	data [8]uint64
}

func (t *tracer) atSyscall(tid int) {
	const getSyscallInfo, entry, exit = 0x420e, 1, 2
	var info syscallInfo
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, getSyscallInfo, uintptr(tid), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 {
		return
	}
	switch info.op {
	case entry:
		t.enter(tid, info.data[0], info.data[1], info.data[2], info.data[3])
	case exit:
		t.leave(tid, int64(info.data[0]))
	}
}

func (t *tracer) enter(tid int, number, fd, address, length uint64) {
	c := call{written: t.written}
	switch number {
	case unix.SYS_WRITE, unix.SYS_PWRITE64:
		if fd == 1 && strings.HasPrefix(t.memory(address, length), "ack ") {
			t.acknowledged()
		} else if t.isLog(fd) {
			c.kind = walWrite
		}
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		if t.isLog(fd) {
			c.kind = walFlush
		}
	}
	t.entered[tid] = c
}

func (t *tracer) leave(tid int, result int64) {
	c := t.entered[tid]
	delete(t.entered, tid)
	switch {
	case result < 0:
	case c.kind == walWrite:
		t.written++
	case c.kind == walFlush:
		t.verdict.Flushes++
		t.flushed = c.written
	}
}

func (t *tracer) acknowledged() {
	t.verdict.Acks++
	if t.written == t.told || t.flushed != t.written {
		t.verdict.Hasty++
	}
	t.told = t.written
}

func (t *tracer) isLog(fd uint64) bool {
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", t.pid, fd))
	return err == nil && strings.HasSuffix(name, "-wal")
}

func (t *tracer) memory(address, length uint64) string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", t.pid))
	if err != nil {
		return ""
	}
	defer f.Close()
	p := make([]byte, min(length, 16))
	n, err := f.ReadAt(p, int64(address))
	if err != nil {
		return ""
	}
	return string(p[:n])
}
