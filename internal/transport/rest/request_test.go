package rest_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

func TestARefusalSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	w := build(t, server.Config{MaxBody: 64 << 10})
	session := w.session(t)
	w.api.Do("PUT", "/api/v1/agents/"+w.agent+"/memory/dir/a.txt", object{"content": "x"})
	good := definition(nil)
	raw := func(s string) []byte { return []byte(s) }
	for name, c := range map[string]struct {
		method, path string
		body         any
		header       [2]string
		status       int
		code, detail string
		field        string
	}{
		"no such route":          {"GET", "/nothing", nil, [2]string{}, 404, "not_found", "no such route", ""},
		"another method":         {"PUT", "/agents", nil, [2]string{}, 405, "validation_failed", "GET, POST", ""},
		"unknown field":          {"POST", "/agents", object{"definition": good, "color": "red"}, [2]string{}, 400, "validation_failed", "Unknown field color: there are clientRequestId, definition", "color"},
		"unknown field inside":   {"POST", "/agents", object{"definition": definition(object{"modle": "x"})}, [2]string{}, 400, "validation_failed", "Unknown field definition.modle", "definition.modle"},
		"unknown in a list":      {"POST", "/sessions/" + session + "/messages", object{"content": []any{object{"type": "text", "txt": "x"}}}, [2]string{}, 400, "validation_failed", "content[0].txt", "content[0].txt"},
		"field of the path":      {"PATCH", "/sessions/" + session, object{"sessionId": "other", "title": "x"}, [2]string{}, 400, "validation_failed", "Unknown field sessionId", "sessionId"},
		"unknown in the query":   {"GET", "/sessions?agent=x", nil, [2]string{}, 400, "validation_failed", "Unknown field agent: there are agentId", "agent"},
		"no number":              {"GET", "/sessions?limit=ten", nil, [2]string{}, 400, "validation_failed", "limit must be a whole number", "limit"},
		"no bool":                {"GET", "/sessions?includeChildren=2", nil, [2]string{}, 400, "validation_failed", "includeChildren must be true or false", "includeChildren"},
		"twice":                  {"GET", "/sessions?limit=1&limit=2", nil, [2]string{}, 400, "validation_failed", "more than once", "limit"},
		"another kind":           {"POST", "/agents", object{"definition": 5}, [2]string{}, 400, "validation_failed", "definition must be", "definition"},
		"no JSON":                {"POST", "/agents", raw(`{"definition"`), [2]string{"Content-Type", "application/json"}, 400, "validation_failed", "not JSON", ""},
		"no object":              {"POST", "/agents", []any{}, [2]string{}, 400, "validation_failed", "must be a JSON object", ""},
		"no media type":          {"POST", "/agents", raw(`{}`), [2]string{}, 415, "validation_failed", "application/json", ""},
		"a form":                 {"POST", "/agents", raw(`{}`), [2]string{"Content-Type", "text/plain"}, 415, "validation_failed", "application/json", ""},
		"too large":              {"POST", "/agents", bytes.Repeat([]byte(" "), 70<<10), [2]string{"Content-Type", "application/json"}, 413, "too_large", "65536 bytes", ""},
		"a NUL":                  {"PATCH", "/sessions/" + session, object{"title": "a\x00"}, [2]string{}, 400, "validation_failed", "NUL", "title"},
		"a foreign cursor":       {"GET", "/sessions?cursor=%2B", nil, [2]string{}, 400, "validation_failed", "cursor is not one of this list", "cursor"},
		"a cursor of runs":       {"GET", "/runs?cursor=e30x", nil, [2]string{}, 400, "validation_failed", "cursor is not one of this list", "cursor"},
		"a folder":               {"GET", "/agents/" + w.agent + "/memory/dir", nil, [2]string{}, 400, "validation_failed", "directory", ""},
		"missing":                {"GET", "/agents/none", nil, [2]string{}, 404, "not_found", "Agent not found", ""},
		"a tag where none is":    {"POST", "/sessions/" + session + "/stop", nil, [2]string{"If-Match", `"x"`}, 412, "precondition_failed", "takes no If-Match", ""},
		"a key that is too long": {"POST", "/agents", object{"definition": good}, [2]string{"Idempotency-Key", strings.Repeat("x", 300)}, 400, "validation_failed", "Idempotency-Key is too large", ""},
		"a scope of nobody":      {"POST", "/tokens", object{"name": "x", "scopes": []string{"root"}}, [2]string{}, 400, "validation_failed", `"root"`, "scopes"},
		"no scope":               {"POST", "/tokens", object{"name": "x", "scopes": []string{}}, [2]string{}, 400, "validation_failed", "at least one", "scopes"},
		"an expiry that was":     {"POST", "/tokens", object{"name": "x", "scopes": []string{"read"}, "expiresAt": 5}, [2]string{}, 400, "validation_failed", "has passed", "expiresAt"},
		"a provider that fails":  {"GET", "/providers/none/models", nil, [2]string{}, 404, "not_found", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			api := w.api
			if c.header[0] != "" {
				api = api.With(c.header[0], c.header[1])
			}
			a := api.Do(c.method, "/api/v1"+c.path, c.body)
			detail := refused(t, a, c.status, c.code)
			if !strings.Contains(detail, c.detail) {
				t.Errorf("says %q, want %q", detail, c.detail)
			}
			if _, _, details := a.Problem(t); c.field != "" && details["field"] != c.field {
				t.Errorf("details %v, want the field %s", details, c.field)
			}
			if a.Header.Get("X-Request-Id") == "" || a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("headers %v", a.Header)
			}
		})
	}
}

func TestAFailingProviderIsToldAsItsError(t *testing.T) {
	t.Parallel()
	w := build(t, server.Config{}, scripted.Turn{Repeat: true, Status: 401, ErrorMessage: "key is bad"})
	session := w.session(t)
	a := w.api.Do("POST", "/api/v1/sessions/"+session+"/messages", text("hi"))
	refused(t, a, http.StatusBadGateway, "provider_error")
}

func TestMissingAndForeignAreTheSame(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		session := w.session(t)
		w.api.Do("POST", "/api/v1/sessions/"+session+"/messages", text("hi"))
		run := servertest.Get[wire.FindRunsResponse](w.api, "/runs").Runs[0].ID
		other := w.h.REST(tokenOf(t, w.h, 7))
		for _, path := range []string{
			"/agents/%s|" + w.agent, "/sessions/%s|" + session, "/runs/%s|" + run, "/sessions/%s/stream|" + session, "/runs/%s/stream|" + run,
			"/runs?sessionId=%s|" + session, "/runs?rootRunId=%s|" + run, "/runs?agentId=%s|" + w.agent, "/sessions?agentId=%s|" + w.agent,
			"/agents/%s/memory|" + w.agent,
		} {
			path, id, _ := strings.Cut(path, "|")
			foreign := other.Do("GET", "/api/v1"+strings.Replace(path, "%s", id, 1), nil)
			missing := other.Do("GET", "/api/v1"+strings.Replace(path, "%s", "none", 1), nil)
			if refused(t, foreign, http.StatusNotFound, "not_found"); !bytes.Equal(foreign.Body, missing.Body) {
				t.Errorf("%s: foreign %s, missing %s", path, foreign.Body, missing.Body)
			}
		}
		for _, list := range []string{"/agents", "/sessions", "/runs", "/tokens"} {
			if a := other.Do("GET", "/api/v1"+list, nil); a.Status != http.StatusOK || bytes.Contains(a.Body, []byte(w.agent)) {
				t.Errorf("%s shows another account: %d %s", list, a.Status, a.Body)
			}
		}
	})
}

// tokenOf makes a token of another account with every scope.
func tokenOf(t *testing.T, h *servertest.Harness, fill byte) string {
	t.Helper()
	out, err := h.As(newKey(t, fill)).Do(t.Context(), object{"_": "CreateToken", "name": "t", "scopes": []any{"read", "write", "admin"}})
	if err != nil {
		t.Fatal(err)
	}
	return out["token"].(string)
}

func TestTheSameKeyAndRequestIsAnsweredOnce(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		session := w.session(t)
		doomed := w.session(t)
		for name, c := range map[string]struct {
			method, path string
			body, other  any
		}{
			"agent":    {"POST", "/agents", object{"definition": definition(nil)}, object{"definition": definition(object{"name": "Other"})}},
			"session":  {"POST", "/agents/" + w.agent + "/sessions", object{"title": "a"}, object{"title": "b"}},
			"message":  {"POST", "/sessions/" + session + "/messages", text("a"), text("b")},
			"delete":   {"DELETE", "/sessions/" + doomed, nil, nil},
			"file":     {"PUT", "/agents/" + w.agent + "/memory/a.txt", object{"content": "a"}, object{"content": "b"}},
			"upload":   {"POST", "/sessions/" + session + "/attachments?name=a.txt", []byte("a"), []byte("b")},
			"provider": {"PUT", "/providers/mine", object{"provider": object{"type": "tutor"}}, object{"provider": object{"type": "openai"}}},
		} {
			api := w.api.With("Idempotency-Key", "key of "+name)
			first, again := api.Do(c.method, "/api/v1"+c.path, c.body), api.Do(c.method, "/api/v1"+c.path, c.body)
			if first.Status >= 300 || first.Status != again.Status || !bytes.Equal(first.Body, again.Body) {
				t.Errorf("%s: %d %s, again %d %s", name, first.Status, first.Body, again.Status, again.Body)
			}
			if c.other != nil {
				refused(t, api.Do(c.method, "/api/v1"+c.path, c.other), http.StatusConflict, "conflict")
			}
		}
		if events := w.h.Events(session); len(events) != 2 {
			t.Errorf("%d events after a message was sent twice", len(events))
		}
		// A client's id on the wire and the header here are the same record.
		id := servertest.JSON[wire.CreateAgentResponse](t, w.api.With("Idempotency-Key", "both").Do("POST", "/api/v1/agents", object{"definition": definition(nil)})).AgentID
		same := servertest.Call[wire.CreateAgentResponse](w.h, "CreateAgent", object{"definition": definition(nil), "clientRequestId": "both"}).AgentID
		if id != same {
			t.Errorf("the wire made %s where REST made %s", same, id)
		}
	})
}

func TestNoRecordKeepsASecretOfAnAnswerOrARequest(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		api := w.api.With("Idempotency-Key", "once")
		made := servertest.JSON[wire.CreateTokenResponse](t, api.Do("POST", "/api/v1/tokens", object{"name": "a", "scopes": []string{"read"}}))
		detail := refused(t, api.Do("POST", "/api/v1/tokens", object{"name": "a", "scopes": []string{"read"}}), http.StatusConflict, "conflict")
		if strings.Contains(detail, made.Token) || !strings.Contains(detail, "shown once") {
			t.Errorf("a repetition says %q", detail)
		}
		if n := len(servertest.Get[wire.ListTokensResponse](w.api, "/tokens").Tokens); n != 2 {
			t.Errorf("%d tokens", n)
		}
		// A secret is stored again, whatever it is: to compare it, a record would have to tell of it.
		for _, value := range []string{"first", "second"} {
			if a := api.Do("PUT", "/api/v1/secrets/key", object{"value": value}); a.Status != http.StatusOK || bytes.Contains(a.Body, []byte(value)) {
				t.Errorf("a secret: %d %s", a.Status, a.Body)
			}
		}
	})
}

func TestAChangeOfAnotherStateIsRefused(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		session := w.session(t)
		w.api.Do("PUT", "/api/v1/agents/"+w.agent+"/memory/a.txt", object{"content": "a"})
		for name, c := range map[string]struct {
			path, method string
			body         func(i int) any
		}{
			"agent": {"/agents/" + w.agent, "PUT", func(i int) any {
				return object{"definition": definition(object{"name": strings.Repeat("n", i)})}
			}},
			"session": {"/sessions/" + session, "PATCH", func(i int) any { return object{"title": strings.Repeat("t", i)} }},
			"file": {"/agents/" + w.agent + "/memory/a.txt", "PUT", func(i int) any {
				return object{"content": strings.Repeat("c", i)}
			}},
		} {
			read := w.api.Do("GET", "/api/v1"+c.path, nil)
			tag := read.Header.Get("ETag")
			if tag == "" {
				t.Fatalf("%s has no tag", name)
			}
			if a := w.api.With("If-None-Match", tag).Do("GET", "/api/v1"+c.path, nil); a.Status != http.StatusNotModified || len(a.Body) != 0 {
				t.Errorf("%s unchanged: %d %s", name, a.Status, a.Body)
			}
			first := w.api.With("If-Match", `"other", `+tag).Do(c.method, "/api/v1"+c.path, c.body(2))
			if first.Status != http.StatusOK || first.Header.Get("ETag") == tag {
				t.Errorf("%s in its state: %d %s, tag %s", name, first.Status, first.Body, first.Header.Get("ETag"))
			}
			refused(t, w.api.With("If-Match", tag).Do(c.method, "/api/v1"+c.path, c.body(3)), http.StatusPreconditionFailed, "precondition_failed")
			refused(t, w.api.With("If-Match", tag).Do("DELETE", "/api/v1"+c.path, nil), http.StatusPreconditionFailed, "precondition_failed")
			if now := w.api.Do("GET", "/api/v1"+c.path, nil).Header.Get("ETag"); now != first.Header.Get("ETag") {
				t.Errorf("%s: a change answered the tag %s, it has %s", name, first.Header.Get("ETag"), now)
			}
		}
		none := w.api.With("If-Match", "*").Do("PUT", "/api/v1/agents/"+w.agent+"/memory/none.txt", object{"content": "x"})
		refused(t, none, http.StatusPreconditionFailed, "precondition_failed")
		for _, path := range []string{"/agents/" + w.agent + "/memory/a.txt", "/sessions/" + session, "/agents/" + w.agent} {
			if a := w.api.With("If-Match", "*").Do("DELETE", "/api/v1"+path, nil); a.Status != http.StatusOK {
				t.Errorf("delete %s: %d %s", path, a.Status, a.Body)
			}
		}
	})
}

func TestListsGoOnWhereAPageEnded(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		const sessions = 5
		for range sessions {
			id := w.session(t)
			w.api.Do("POST", "/api/v1/sessions/"+id+"/messages", text("hi"))
		}
		type page struct {
			Sessions, Runs []struct{ ID string }
			NextCursor     string
		}
		for _, path := range []string{"/sessions?limit=2", "/runs?limit=2", "/runs?limit=2&agentId=" + w.agent, "/runs?limit=2&status=succeeded"} {
			seen, cursor := map[string]bool{}, ""
			for pages := 1; ; pages++ {
				p := servertest.Get[page](w.api, path+cursor)
				for _, e := range append(p.Sessions, p.Runs...) {
					if seen[e.ID] {
						t.Errorf("%s lists %s twice", path, e.ID)
					}
					seen[e.ID] = true
				}
				if p.NextCursor == "" {
					if len(seen) != sessions || pages != 3 {
						t.Errorf("%s lists %d on %d pages", path, len(seen), pages)
					}
					break
				}
				cursor = "&cursor=" + p.NextCursor
			}
		}
		runs := servertest.Get[wire.FindRunsResponse](w.api, "/runs").Runs
		for i := range runs[1:] {
			if runs[i].CreatedAt < runs[i+1].CreatedAt {
				t.Errorf("runs are not newest first: %v", runs)
			}
		}
		if tree := servertest.Get[wire.FindRunsResponse](w.api, "/runs?rootRunId="+runs[0].ID).Runs; len(tree) != 1 {
			t.Errorf("a tree of %d", len(tree))
		}
	})
}

func TestAMessageIsAnsweredAtItsEndOrAtOnce(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg, scripted.Turn{Steps: []scripted.Step{{Text: "First."}}}, scripted.Turn{Steps: []scripted.Step{{Gate: "go"}, {Text: "Second."}}})
		session := w.session(t)
		path := "/sessions/" + session + "/messages"
		type turn struct {
			SessionID, RunID       string
			AssistantEventID, Text *string
			Seq                    int64
		}
		first := servertest.Post[turn](w.api, path, text("one"))
		if first.Text == nil || *first.Text != "First." || first.AssistantEventID == nil || *first.AssistantEventID == "" || first.SessionID != session {
			t.Errorf("waited: %+v", first)
		}
		async := w.api.With("Prefer", "wait=5, respond-async").With("Idempotency-Key", "m")
		a := async.Do("POST", "/api/v1"+path, text("two"))
		at := servertest.JSON[turn](t, a)
		if a.Status != http.StatusAccepted || at.RunID == "" || at.Seq != 3 || at.Text != nil {
			t.Errorf("at once: %d %s", a.Status, a.Body)
		}
		if again := async.Do("POST", "/api/v1"+path, text("two")); !bytes.Equal(again.Body, a.Body) {
			t.Errorf("again: %s, first %s", again.Body, a.Body)
		}
		<-w.model.Reached("go")
		w.model.Open("go")
		// The same key without the preference waits for the end of the same turn.
		waited := servertest.JSON[turn](t, w.api.With("Idempotency-Key", "m").Do("POST", "/api/v1"+path, text("two")))
		if waited.Text == nil || *waited.Text != "Second." {
			t.Errorf("the repetition that waits: %+v", waited)
		}
	})
}

func TestWithoutAGoodTokenNothingIsAnswered(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		gone := servertest.Post[wire.CreateTokenResponse](w.api, "/tokens", object{"name": "gone", "scopes": []string{"read"}})
		if a := w.h.REST(gone.Token).Do("GET", "/api/v1/me", nil); a.Status != http.StatusOK {
			t.Fatalf("a new token: %d %s", a.Status, a.Body)
		}
		if a := w.api.Do("DELETE", "/api/v1/tokens/"+gone.Info.ID, nil); a.Status != http.StatusOK {
			t.Fatalf("revoke: %d %s", a.Status, a.Body)
		}
		for name, header := range map[string]string{
			"none": "", "another scheme": "Basic bG9hbTo=", "no text": "Bearer ", "unknown": "Bearer loam_nobody", "revoked": "Bearer " + gone.Token,
		} {
			a := w.h.REST("").With("Authorization", header).Do("GET", "/api/v1/me", nil)
			if refused(t, a, http.StatusUnauthorized, "unauthenticated"); a.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s: headers %v", name, a.Header)
			}
		}
		me := servertest.Get[wire.CallerInfo](w.api, "/me")
		if me.Account != w.h.Key.ID().String() || !me.Owner || me.Via != "token" || len(me.Scopes) != 3 || me.Server.Accounts != "open" {
			t.Errorf("/me says %+v", me)
		}
	})
}

func TestATokenReachesWhatItsScopesSay(t *testing.T) {
	t.Parallel()
	w := build(t, server.Config{})
	for _, held := range []string{"read", "write", "admin"} {
		api := w.h.REST(w.h.Token(held))
		for _, op := range routed() {
			path := fill(op.Route.Path, map[string]string{
				"agentId": "x", "sessionId": "x", "runId": "x", "name": "x", "provider": "x", "path...": "x", "attachmentId": "x", "tokenId": "x", "signInId": "x", "keyId": "x", "passkeyId": "x",
			})
			a := api.Do(op.Route.Method, "/api/v1"+path, nil)
			denied := a.Status == http.StatusForbidden
			if denied != (string(op.Needs()) != held) {
				t.Errorf("%s needs %s; with %s it answers %d %s", op.Name, op.Needs(), held, a.Status, a.Body)
			}
		}
		stream := api.Do("GET", "/api/v1/sessions/x/stream", nil)
		if (stream.Status == http.StatusForbidden) != (held != "read") {
			t.Errorf("a stream with the scope %s: %d", held, stream.Status)
		}
	}
}

func TestAChunkForAnotherPlaceIsToldWhereToGoOn(t *testing.T) {
	t.Parallel()
	w := build(t, server.Config{})
	target := object{"kind": "memory", "agentId": w.agent, "path": "up.bin"}
	id := servertest.Post[wire.BeginFileUploadResponse](w.api, "/uploads", object{"target": target, "size": 4}).UploadID
	if a := w.api.Do("PUT", "/api/v1/uploads/"+id+"?offset=0", []byte("ab")); a.Status != http.StatusOK {
		t.Fatalf("the first chunk: %d %s", a.Status, a.Body)
	}
	a := w.api.Do("PUT", "/api/v1/uploads/"+id+"?offset=0", []byte("abcd"))
	if code, _, details := a.Problem(t); a.Status != http.StatusConflict || code != "conflict" || details["received"] != float64(2) {
		t.Errorf("again: %d %s", a.Status, a.Body)
	}
	refused(t, w.api.Do("PUT", "/api/v1/uploads/"+id+"?offset=2", []byte{}), http.StatusBadRequest, "validation_failed")
	refused(t, w.api.Do("PUT", "/api/v1/uploads/"+id, []byte("cd")), http.StatusBadRequest, "validation_failed")
	refused(t, w.api.Do("PUT", "/api/v1/uploads/"+id+"?offset=x", []byte("cd")), http.StatusBadRequest, "validation_failed")
}
