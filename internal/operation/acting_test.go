package operation_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/wire"
)

const personBusy = "A user tool action is still running in this thread; wait for it to finish"

func TestAPersonWhoActsOnAnotherServerKeepsTheSessionBusyUntilThatServerIsDead(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	h := servertest.Start(t, server.Config{DatabaseURL: url})
	session := h.Session(h.Agent(servertest.Scripted(t, scripted.Turn{Steps: []scripted.Step{{Text: "Hello."}}})))
	other := servertest.NewElsewhere(t, url)
	other.Act(session)
	read := object{"sessionId": session, "verb": "read", "input": object{"address": "~/memory/"}}
	message := object{"sessionId": session, "content": []any{object{"type": "text", "text": "Hi."}}}
	for name, request := range map[string]object{"InvokeSessionTool": read, "MessageSession": message} {
		if _, status, text := act(t, h.Client, name, request); status != http.StatusConflict || text != personBusy {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	// Another session is free.
	if _, status, text := act(t, h.Client, "InvokeSessionTool", object{"sessionId": h.Session(agentOf(h, session)), "verb": "read", "input": object{"address": "~/memory/"}}); status != http.StatusOK {
		t.Errorf("another session: %d %s", status, text)
	}
	other.Die()
	for name, request := range map[string]object{"InvokeSessionTool": read, "MessageSession": message} {
		status, text := http.StatusConflict, personBusy
		// The database notices a moment later that the other server is gone.
		for attempt := 0; status == http.StatusConflict && attempt < 1000; attempt++ {
			_, status, text = act(t, h.Client, name, request)
		}
		if status != http.StatusOK {
			t.Errorf("%s after the other server died: %d %s", name, status, text)
		}
	}
}

func agentOf(h *servertest.Harness, session string) string {
	return servertest.Call[wire.GetSessionResponse](h, "GetSession", object{"sessionId": session}).Session.AgentID
}

func TestOtherServersSeeThatAPersonActsAndWhenThatIsOver(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-release
	}))
	t.Cleanup(site.Close)
	url := storetest.PostgresURL(t)
	h := servertest.Start(t, server.Config{DatabaseURL: url, EgressAllow: []string{strings.TrimPrefix(site.URL, "http://")}})
	session := h.Session(h.Agent(servertest.Scripted(t)))
	other := servertest.NewElsewhere(t, url)
	done := make(chan int)
	go func() {
		_, status, _ := act(t, h.Client, "InvokeSessionTool", object{"sessionId": session, "verb": "read", "input": object{"address": site.URL, "options": object{"raw": true}}})
		done <- status
	}()
	<-arrived
	if !other.Acting(session) {
		t.Error("the database does not say that a person acts")
	}
	close(release)
	if status := <-done; status != http.StatusOK {
		t.Errorf("the call was answered %d", status)
	}
	if other.Acting(session) {
		t.Error("the note stays")
	}
}
