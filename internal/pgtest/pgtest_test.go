package pgtest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/pgtest"
)

// The test binary runs itself as a process that starts a server and is then killed.
const roleVariable = "LOAM_PGTEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	s, err := pgtest.Start(pgtest.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.URL())
	// Until it is killed; the parent keeps the pipe open.
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// folder is where the server of a URL keeps its files and its socket.
func folder(t *testing.T, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("host")
}

func setting(t *testing.T, server, name string) string {
	t.Helper()
	config, err := pgx.ParseConfig(server)
	if err != nil {
		t.Fatal(err)
	}
	delete(config.RuntimeParams, "loam_unsafe_durability")
	c, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	var value string
	if err := c.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestAServerServesAndLeavesNothingWhenStopped(t *testing.T) {
	t.Parallel()
	for fsync, want := range map[bool]string{true: "on", false: "off"} {
		s, err := pgtest.Start(pgtest.Options{Fsync: fsync})
		if err != nil {
			t.Fatal(err)
		}
		if got := setting(t, s.URL(), "fsync"); got != want {
			t.Errorf("fsync is %s, want %s", got, want)
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(folder(t, s.URL())); !os.IsNotExist(err) {
			t.Errorf("the folder stayed: %v", err)
		}
	}
}

func TestAKilledProcessLeavesNoServer(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"=start")
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	server, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t, strings.TrimSpace(server))
	pid, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	// The folder goes after the server; the deadline of the test binary bounds the wait.
	first, _, _ := strings.Cut(string(pid), "\n")
	for exists(dir) || running(first) {
	}
}

// running tells whether a process lives; one that has ended and was not waited for by its parent does not.
func running(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestPgserverRunsACommandWithAServerAndPassesItsStatus(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "pgserver")
	if out, err := exec.Command("go", "build", "-o", bin, "./pgserver").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(bin, "--", "sh", "-c", "echo $"+pgtest.URLVariable+"; exit 7").Output()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 7 {
		t.Errorf("got %v", err)
	}
	if !strings.HasPrefix(string(out), "postgres://") || exists(folder(t, strings.TrimSpace(string(out)))) {
		t.Errorf("got %q, or its folder stayed", out)
	}
	if err := exec.Command(bin).Run(); err == nil {
		t.Error("no command is no error")
	}
}
