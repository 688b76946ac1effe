package command_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/command"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"loam": func() { os.Exit(command.Main()) }})
}

// TestScripts runs the real commands against real server processes. Every file of testdata/script is one test; its first
// lines say what it proves.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("LOAM_TUTOR_PACE", "-1ms")
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"up": up, "down": down, "exits": exits, "sql": execSQL, "outputs": outputs, "mode": mode, "model": scriptedModel, "session": session, "agekey": ageKey, "first": first, "field": field, "issuer": issuer, "setenv": setenv,
		},
	})
}

// patience bounds every wait for a process.
const patience = time.Minute

// until waits for a condition that another process brings about.
func until(ts *testscript.TestScript, what string, condition func() bool) {
	timeout := clock.System{}.After(patience)
	for !condition() {
		select {
		case <-clock.System{}.After(5 * time.Millisecond):
		case <-timeout:
			ts.Fatalf("waited in vain for %s", what)
		}
	}
}

// address is what a server says about itself in its data folder.
type address struct {
	URL string
	PID int
}

func readAddress(ts *testscript.TestScript, dir string) (a address, ok bool) {
	text, err := os.ReadFile(filepath.Join(ts.MkAbs(dir), "server.json"))
	return a, err == nil && json.Unmarshal(text, &a) == nil && a.URL != ""
}

// up DIR waits until the server of a data folder listens, and sets $URL and $ADDR.
func up(ts *testscript.TestScript, _ bool, args []string) {
	var a address
	until(ts, "the address of the server", func() (ok bool) {
		a, ok = readAddress(ts, args[0])
		return ok
	})
	ts.Setenv("URL", a.URL)
	ts.Setenv("ADDR", strings.TrimPrefix(a.URL, "http://"))
}

// down DIR ends the server of a data folder with SIGTERM and waits until its address is gone.
func down(ts *testscript.TestScript, _ bool, args []string) {
	a, ok := readAddress(ts, args[0])
	if !ok {
		ts.Fatalf("no server runs on %s", args[0])
	}
	ts.Check(syscall.Kill(a.PID, syscall.SIGTERM))
	until(ts, "the end of the server", func() bool {
		_, err := os.Stat(filepath.Join(ts.MkAbs(args[0]), "server.json"))
		return errors.Is(err, os.ErrNotExist)
	})
}

// exits CODE PROGRAM… runs a program that must end with a code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// sql FILE STATEMENT changes an SQLite database that no server has open.
func execSQL(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer func() { ts.Check(db.Close()) }()
	_, err = db.Exec(args[1])
	ts.Check(err)
}

// outputs FILE TEXT waits until a file that a process writes holds a text.
func outputs(ts *testscript.TestScript, _ bool, args []string) {
	until(ts, args[1], func() bool {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		return err == nil && strings.Contains(string(text), args[1])
	})
}

// mode OCTAL PATH compares the permissions of a file.
func mode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := strconv.FormatUint(uint64(info.Mode().Perm()), 8); got != args[0] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}

// model KEY TEXT… starts a model that wants a key and gives one answer after another, and sets $MODEL to its address.
func scriptedModel(ts *testscript.TestScript, _ bool, args []string) {
	script := scripted.Script{Key: args[0], Models: []string{"small", "large"}}
	for _, text := range args[1:] {
		script.Turns = append(script.Turns, scripted.Turn{Steps: []scripted.Step{{Text: text}}})
	}
	s, err := scripted.New(scripted.Options{Script: script})
	ts.Check(err)
	ts.Defer(func() { ts.Check(s.Close()) })
	ts.Setenv("MODEL", s.BaseURL(model.OpenAIChat))
}

// agekey FILE makes an identity of age, for backups, and sets $RECIPIENT to its public part.
func ageKey(ts *testscript.TestScript, _ bool, args []string) {
	key, err := age.GenerateX25519Identity()
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(key.String()+"\n"), 0o600))
	ts.Setenv("RECIPIENT", key.Recipient().String())
}

// first VARIABLE FILE sets a variable to the id of the first of a list in JSON.
func first(ts *testscript.TestScript, _ bool, args []string) {
	var list []struct{ ID string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &list))
	if len(list) == 0 {
		ts.Fatalf("%s lists nothing", args[1])
	}
	ts.Setenv(args[0], list[0].ID)
}

// issuer starts a service that gives out tokens for every code, and sets $ISSUER to its address.
func issuer(ts *testscript.TestScript, _ bool, _ []string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"access_token":"a","refresh_token":"r","expires_in":3600}`))
	}))
	ts.Defer(s.Close)
	ts.Setenv("ISSUER", s.URL)
}

// field VARIABLE NAME FILE sets a variable to a text of a JSON object, or of the first object of a list.
func field(ts *testscript.TestScript, _ bool, args []string) {
	text := []byte(ts.ReadFile(args[2]))
	var object map[string]any
	if json.Unmarshal(text, &object) != nil {
		var list []map[string]any
		ts.Check(json.Unmarshal(text, &list))
		if len(list) == 0 {
			ts.Fatalf("%s lists nothing", args[2])
		}
		object = list[0]
	}
	value, ok := object[args[1]].(string)
	if !ok {
		ts.Fatalf("%s has no text %s", args[2], args[1])
	}
	ts.Setenv(args[0], value)
}

// setenv VARIABLE FILE sets a variable to the content of a file.
func setenv(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

// session FILE sets $SESSION to the first session of a list in JSON.
func session(ts *testscript.TestScript, _ bool, args []string) {
	var list []struct{ ID string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &list))
	if len(list) == 0 {
		ts.Fatalf("%s lists no sessions", args[0])
	}
	ts.Setenv("SESSION", list[0].ID)
}
