package rest_test

import (
	"bytes"
	"flag"
	"net/http"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/principal"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) {
	servertest.Helper()
	goleak.VerifyTestMain(m, storetest.Leaks())
}

type object = map[string]any

// each runs a test on both databases.
func each(t *testing.T, fn func(t *testing.T, cfg server.Config)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		fn(t, server.Config{})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		fn(t, server.Config{DatabaseURL: storetest.PostgresURL(t)})
	})
}

// world is a server with an agent on a scripted model and a caller with every scope.
type world struct {
	h     *servertest.Harness
	api   *servertest.REST
	model *scripted.Server
	agent string
}

func build(t *testing.T, cfg server.Config, turns ...scripted.Turn) world {
	t.Helper()
	h := servertest.Start(t, cfg)
	if len(turns) == 0 {
		turns = []scripted.Turn{{Repeat: true, Steps: []scripted.Step{{Text: "Yes."}}}}
	}
	m := servertest.Scripted(t, turns...)
	return world{h: h, api: h.REST(h.Token()), model: m, agent: h.Agent(m)}
}

func (w world) session(t *testing.T) string {
	t.Helper()
	return servertest.Post[struct{ SessionID string }](w.api, "/agents/"+w.agent+"/sessions", object{}).SessionID
}

// invited has others invite the owner to agents of theirs.
func (w world) invited(t *testing.T, n int) {
	t.Helper()
	c := w.h.As(newKey(t, 33))
	do := func(name string, fields object) object {
		fields["_"] = name
		out, err := c.Do(t.Context(), fields)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	do("SetModelProvider", object{"name": "scripted", "provider": object{"type": "tutor"}})
	for range n {
		agent := do("CreateAgent", object{"definition": definition(nil)})["agentId"]
		do("InviteAgentCollaborator", object{"agentId": agent, "accountId": w.h.Key.ID().String(), "role": "reader"})
	}
}

func text(s string) object { return object{"content": []any{object{"type": "text", "text": s}}} }

func definition(changes object) object {
	out := object{"name": "Scribe", "systemPrompt": "You take notes.", "modelProvider": "scripted", "model": "scripted-1"}
	for k, v := range changes {
		out[k] = v
	}
	return out
}

func newKey(t testing.TB, fill byte) *principal.Key {
	t.Helper()
	k, err := principal.NewKey(bytes.Repeat([]byte{fill}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// refused checks that an answer is a problem of a status and code and returns its detail.
func refused(t *testing.T, a servertest.Answer, status int, code string) string {
	t.Helper()
	if a.Status < http.StatusMultipleChoices {
		t.Errorf("answered %d %s, want %d %s", a.Status, a.Body, status, code)
		return ""
	}
	got, detail, _ := a.Problem(t)
	if a.Status != status || got != code {
		t.Errorf("answered %d %s (%s), want %d %s", a.Status, got, detail, status, code)
	}
	return detail
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the program says: when the change is meant, run the test with -update, and see that it breaks no client", path)
	}
}
