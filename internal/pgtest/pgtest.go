// Package pgtest starts a real PostgreSQL server for tests.
//
// The server listens on a socket in a private temporary folder and writes without fsync, so it is quick and keeps nothing.
// A shell stands between it and the process that started it: when that process ends, however it ends, a pipe closes, and
// the shell stops the server and removes the folder. Nothing has to be cleaned up by hand.
//
// A test asks Shared for a server and storetest for a migrated database on it. The program pgserver starts one server for
// a whole `go test ./...`.
//
// pgtest is for tests only (tier 1); it imports nothing of Loam.
package pgtest

import (
	"bufio"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// URLVariable names the environment variable with the URL of a server on which tests may create databases.
const URLVariable = "LOAM_TEST_POSTGRES_URL"

// ErrNotInstalled says that the machine has no PostgreSQL server.
var ErrNotInstalled = errors.New("PostgreSQL is not installed: install the package postgresql (initdb and pg_ctl are looked for in PATH and in /usr/lib/postgresql)")

// Options choose what the server promises.
type Options struct {
	// Fsync makes the server flush its commits, as a real one does.
	Fsync bool
}

// Server is a running PostgreSQL server.
type Server struct {
	url  string
	dir  string
	pipe *os.File
	cmd  *exec.Cmd
}

// The shell runs as the server's user. Its standard input is the pipe that ends with the process that started it.
const script = `
initdb -D "$DIR/data" -U postgres -A trust -E UTF8 --no-locale --no-sync >"$DIR/log" 2>&1 &&
pg_ctl -D "$DIR/data" -l "$DIR/log" -w -t 60 -o "$SETTINGS" start >>"$DIR/log" 2>&1 </dev/null &&
echo ready
cat >/dev/null
pg_ctl -D "$DIR/data" -m immediate -w stop >>"$DIR/log" 2>&1
rm -rf "$DIR"
`

// Start starts a server and returns when it accepts connections. It takes about a second.
func Start(o Options) (*Server, error) {
	bin, err := findPrograms()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "loam-pg-")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "DIR=" + dir, "SETTINGS=" + settings(o, dir), "LC_ALL=C", "TZ=UTC"}
	// A group of its own: an interrupt at the terminal is for the tests, and the shell cleans up after them.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 {
		if err := becomeOrdinary(cmd, dir); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	return launch(cmd, dir)
}

func settings(o Options, dir string) string {
	list := []string{"-k " + dir, "-c listen_addresses=", "-c max_connections=500", "-c shared_buffers=64MB", "-c jit=off",
		"-c wal_level=minimal", "-c max_wal_senders=0", "-c deadlock_timeout=200ms", "-c unix_socket_permissions=0700"}
	if !o.Fsync {
		list = append(list, "-c fsync=off", "-c full_page_writes=off")
	}
	return strings.Join(list, " ")
}

// launch runs the shell and waits for its word.
func launch(cmd *exec.Cmd, dir string) (*Server, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, outWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, read.Close(), write.Close())
	}
	cmd.Stdin, cmd.Stdout = read, outWrite
	err = cmd.Start()
	closeErr := errors.Join(read.Close(), outWrite.Close())
	if err != nil {
		return nil, errors.Join(err, closeErr, write.Close(), out.Close(), os.RemoveAll(dir))
	}
	s := &Server{dir: dir, pipe: write, cmd: cmd}
	// The server inherits the output, so the line is awaited and not the end.
	line, err := bufio.NewReader(out).ReadString('\n')
	_ = out.Close()
	if err != nil || line != "ready\n" {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		return nil, errors.Join(fmt.Errorf("PostgreSQL did not start: %s", log), s.Stop())
	}
	query := url.Values{"host": {dir}, "user": {"postgres"}, "loam_unsafe_durability": {"accept"}}
	s.url = "postgres:///postgres?" + query.Encode()
	return s, nil
}

// URL is the connection string of the server's maintenance database, for a superuser. It carries the parameter with which
// store/postgres accepts a server that does not flush.
func (s *Server) URL() string { return s.url }

// Stop ends the server and removes its files.
func (s *Server) Stop() error { return errors.Join(s.pipe.Close(), s.cmd.Wait()) }

// findPrograms returns the folder of initdb and pg_ctl, the newest when there are several.
func findPrograms() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", ErrNotInstalled
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return major(a) - major(b) })
	return filepath.Dir(newest), nil
}

func major(path string) int {
	n, err := strconv.Atoi(strings.Split(path, "/")[4])
	if err != nil {
		return 0
	}
	return n
}

// becomeOrdinary makes the command run as a user that is not root, because the server refuses root, and gives it the folder.
func becomeOrdinary(cmd *exec.Cmd, dir string) error {
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return fmt.Errorf("find a user for the server: %w", err)
		}
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return err
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(dir, int(uid), int(gid))
}

// shared starts the process's server at the first call. It is the one piece of state here that lives as long as the
// process, which is what its end is tied to.
var shared = sync.OnceValues(func() (*Server, error) { return Start(Options{}) })

// Shared returns the URL of a server for tests: the one that the environment names, or one that this process starts once
// and that ends with it. Without PostgreSQL the test fails.
func Shared(t testing.TB) string {
	t.Helper()
	if u := os.Getenv(URLVariable); u != "" {
		return u
	}
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s.URL()
}
