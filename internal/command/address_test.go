package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

func TestTheAddressOfALivingServerIsFoundAndTakenAwayAtItsEnd(t *testing.T) {
	t.Parallel()
	f := addressFile(t.TempDir())
	if _, ok := f.read(); ok {
		t.Error("an address before the server has started")
	}
	if err := f.write("http://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	if got, ok := f.read(); !ok || got.URL != "http://127.0.0.1:1" || got.PID != os.Getpid() {
		t.Errorf("read() = %+v, %v", got, ok)
	}
	for range 2 {
		if err := f.remove(); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(string(f)); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTheAddressOfADeadServerDoesNotCountAndStaysForItsSuccessor(t *testing.T) {
	t.Parallel()
	dead := exec.Command(os.Args[0], "-test.run=^$")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	f := addressFile(t.TempDir())
	for text, what := range map[string]string{
		`{"url":"http://127.0.0.1:1","pid":` + strconv.Itoa(dead.Process.Pid) + `}`: "a dead process",
		`{"url":"http://127.0.0.1:1"}`:                                              "no process",
		`{"pid":1}`:                                                                 "no address",
		`{`:                                                                         "no JSON",
	} {
		if err := os.WriteFile(filepath.Join(string(f), addressName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := f.read(); ok {
			t.Errorf("%s: read() = %+v", what, got)
		}
		if err := f.remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(f.path()); err != nil {
			t.Errorf("%s: the file of another process was removed", what)
		}
	}
}

func TestAWildcardAddressIsReachedOnThisMachine(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		"0.0.0.0:3050":   "http://127.0.0.1:3050",
		":3050":          "http://127.0.0.1:3050",
		"[::]:3050":      "http://[::1]:3050",
		"127.0.0.1:3050": "http://127.0.0.1:3050",
		"[::1]:1":        "http://[::1]:1",
	} {
		if got := localURL(listen); got != want {
			t.Errorf("localURL(%q) = %q, want %q", listen, got, want)
		}
	}
}
