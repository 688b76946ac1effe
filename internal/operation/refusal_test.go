package operation_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

func long(n int) string { return strings.Repeat("x", n) }

func repeated(n int, v any) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func TestRefusalsHaveTheirTextAndStoreNothing(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		agent := func(more object) object { more["agentId"] = w.agent; return more }
		session := func(more object) object { more["sessionId"] = w.session; return more }
		message := func(parts ...any) object { return session(object{"content": parts}) }
		part := object{"type": "text", "text": "hi"}
		for i, c := range []struct {
			action  string
			request object
			status  int
			text    string
		}{
			{"GetAgent", nil, 400, "Agent ID is required"},
			{"GetAgent", object{"agentId": 5}, 400, "Agent ID is required"},
			{"GetAgent", object{"agentId": "  "}, 400, "Agent ID is required"},
			{"GetAgent", object{"agentId": long(257)}, 400, "Agent ID is too large"},
			{"GetAgent", object{"agentId": "a\x00b"}, 400, "agentId must not contain a NUL character"},
			{"GetAgent", object{"agentId": []byte("x")}, 400, "Agent ID is required"},
			{"CreateAgent", object{"definition": definition(object{"modelProvider": "none"})}, 400, "Model provider not found"},
			{"CreateAgent", object{"definition": definition(object{"modelProvider": "a\x00"})}, 400, "definition.modelProvider must not contain a NUL character"},
			{"CreateAgent", object{"definition": definition(object{"metadata": object{"k\x00": 1}})}, 400, "definition.metadata.* must not contain a NUL character"},
			{"CreateAgent", object{"definition": definition(object{"reasoningLevel": "huge"})}, 400, "Reasoning level is invalid"},
			{"CreateAgent", object{"definition": "text"}, 400, "definition must be map, not text"},
			{"UpdateAgent", agent(object{"definition": definition(object{"modelProvider": "none"})}), 400, "Model provider not found"},
			{"CreateSession", agent(object{"title": long(257)}), 400, "Title is too large"},
			{"CreateSession", agent(object{"title": ""}), 400, "Title is required"},
			{"CreateSession", agent(object{"title": "a\x00b"}), 400, "title must not contain a NUL character"},
			{"CreateSession", agent(object{"modelOverride": object{"provider": "none", "model": "x"}}), 400, "Model provider not found"},
			{"CreateSession", agent(object{"modelOverride": "x"}), 400, "modelOverride must be map, not text"},
			{"UpdateSession", session(object{}), 400, "Nothing to update: provide a title or a model override"},
			{"UpdateSession", session(object{"modelOverride": 5}), 400, "modelOverride must be an object or null"},
			{"UpdateSession", session(object{"modelOverride": object{}}), 400, "Model provider is required"},
			{"GetSession", session(object{"afterSeq": -1}), 400, "afterSeq must be a non-negative integer"},
			{"GetSession", session(object{"afterSeq": "1"}), 400, "afterSeq must be a non-negative integer"},
			{"GetSession", session(object{"afterSeq": 0.5}), 400, "afterSeq must be a non-negative integer"},
			{"GetSession", session(object{"afterSeq": uint64(math.MaxUint64)}), 400, "afterSeq must be a non-negative integer"},
			{"GetSession", session(object{"limit": 0}), 400, "limit must be a positive integer"},
			{"ListSessions", object{"cursor": "x"}, 400, "Session cursor must be an object"},
			{"ListSessions", object{"cursor": object{"updatedBefore": 0, "idBefore": "x"}}, 400, "Session cursor must be an object"},
			{"ListSessions", object{"limit": -1}, 400, "limit must be a positive integer"},
			{"ListRuns", nil, 400, "ListRuns requires rootRunId, sessionId, or agentId"},
			{"ListRuns", object{"agentId": w.agent, "sessionId": w.session}, 400, "ListRuns requires rootRunId, sessionId, or agentId"},
			{"ListRuns", object{"rootRunId": 5}, 400, "Root run ID is required"},
			{"GetRun", object{"runId": "none"}, 404, "Run not found"},
			{"RetrySession", session(object{}), 400, "Nothing to retry: the latest run did not fail"},
			{"MessageSession", session(object{}), 400, "Message text is required"},
			{"MessageSession", session(object{"content": "hi"}), 400, "content must be list, not text"},
			{"MessageSession", message(object{"type": "text", "text": " \n"}), 400, "Message text is required"},
			{"MessageSession", message(object{"type": "text", "text": 5}), 400, "Message text is required"},
			{"MessageSession", message(object{"type": "context", "lines": []any{"x"}}), 400, "Message text is required"},
			{"MessageSession", message(object{"type": "text", "text": long(64<<10 + 1)}), 400, "Message text is too large"},
			{"MessageSession", message(object{"type": "text", "text": long(32 << 10)}, object{"type": "text", "text": long(32 << 10)}), 400, "Message text is too large"},
			{"MessageSession", message(repeated(65, part)...), 400, "Too many text parts: at most 64"},
			{"MessageSession", message(part, object{"type": "context", "lines": repeated(65, "x")}), 400, "Too many context lines: at most 64"},
			{"MessageSession", message(part, object{"type": "context", "lines": []any{long(2<<10 + 1)}}), 400, "Context line is too large"},
			{"MessageSession", message(part, object{"type": "context", "lines": "x"}), 400, "content[1].lines must be a list of texts"},
			{"MessageSession", message(append(repeated(17, object{"type": "attachment", "id": w.attachment}), part)...), 400, "Too many attachments: at most 16"},
			{"MessageSession", message(part, object{"type": "attachment", "id": "none"}), 404, "Attachment not found: none"},
			{"MessageSession", message(part, object{"type": "attachment", "id": 5}), 400, "Attachment ID is required"},
			{"MessageSession", message(part, object{"type": "attachment", "id": "a\x00"}), 400, "Attachment ID must not contain a NUL character"},
			{"MessageSession", message(part, object{"type": "image"}), 400, `content[1] has the unknown type "image": use text, context or attachment`},
			{"MessageSession", message(part, "text"), 400, "content[1] is not a message part"},
			{"MessageSession", message(part, nil), 400, `content[1] has the unknown type "": use text, context or attachment`},
			{"MessageSession", message(object{"type": "text", "text": "x", "blocks": "x"}), 400, "content[0].blocks must be a list"},
			{"MessageSession", message(object{"type": "text", "text": "x", "blocks": []any{long(1 << 20)}}), 400, "Message blocks are too large"},
			{"MessageSession", message(object{"type": "text", "text": "x", "clientMessageId": long(257)}), 400, "Client message ID is too large"},
			{"WriteAgentMemoryFile", agent(object{"path": "../x", "content": "x"}), 400, "Memory path is invalid: it must not contain .."},
			{"WriteAgentMemoryFile", agent(object{"path": "x", "content": 5}), 400, "Memory file content must be text or bytes"},
			{"WriteAgentMemoryFile", agent(object{"path": "x"}), 400, "Memory file content must be text or bytes"},
			{"WriteAgentMemoryFile", agent(object{"path": "a.txt/b", "content": "x"}), 409, "Memory path is a file, not a directory: a.txt"},
			{"ReadAgentMemoryFile", agent(object{"path": "none"}), 404, "Memory file not found"},
			{"ReadAgentMemoryFile", agent(object{"path": ""}), 400, "Path is required"},
			{"DeleteAgentMemoryFile", agent(object{"path": "."}), 400, "Memory path is required"},
			{"UploadSessionAttachment", session(object{"name": "x"}), 400, "Attachment content is required"},
			{"UploadSessionAttachment", session(object{"name": "x", "content": "text"}), 400, "content must be bytes, not text"},
			{"UploadSessionAttachment", session(object{"name": "", "content": []byte("x")}), 400, "Attachment name is required"},
			{"ReadSessionAttachment", session(object{"attachmentId": "none"}), 404, "Attachment not found: none"},
			{"SetSecret", object{"name": "", "value": []byte("x")}, 400, "Secret name is required"},
			{"SetSecret", object{"name": "x"}, 400, "Secret value is required"},
			{"SetSecret", object{"name": "x", "value": []byte(long(64<<10 + 1))}, 400, "Secret value is too large"},
			{"SetSecret", object{"name": "x", "value": "text"}, 400, "value must be bytes, not text"},
			{"SetModelProvider", object{"name": "x", "provider": object{"type": "none"}}, 400, "Provider type is not supported: none"},
			{"SetModelProvider", object{"name": "x", "provider": object{"type": "custom", "baseUrl": "ftp://x"}}, 400, "Provider base URL is invalid: it must be http(s)://host[:port][/path]"},
			{"DeleteModelProvider", object{"name": "none"}, 404, "Model provider not found"},
			{"ListProviderModels", object{"provider": "none"}, 404, "Model provider not found"},
		} {
			_, status, text := act(t, w.h.Client, c.action, c.request)
			if status != c.status || text != c.text {
				t.Errorf("%d %s %.200s: %d %q, want %d %q", i, c.action, fmt.Sprint(c.request), status, text, c.status, c.text)
			}
		}
		agents := must(t, w.h.Client, "ListAgents", nil)["agents"].([]any)
		found := must(t, w.h.Client, "ListSessions", nil)["sessions"].([]any)
		memory := must(t, w.h.Client, "ListAgentMemory", object{"agentId": w.agent})["entries"].([]any)
		if len(agents) != 2 || len(found) != 1 || len(memory) != 1 || len(w.h.Events(w.session)) != 2 {
			t.Errorf("refused actions left %d agents, %d sessions, %d files", len(agents), len(found), len(memory))
		}
	})
}

func TestLimitsAreInclusive(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		c := w.h.Client
		must(t, c, "CreateSession", object{"agentId": w.agent, "title": long(256)})
		must(t, c, "CreateAgent", object{"definition": definition(object{"name": long(256)})})
		must(t, c, "SetSecret", object{"name": long(256), "value": []byte(long(64 << 10))})
		must(t, c, "UploadSessionAttachment", object{"sessionId": w.session, "name": long(256), "content": []byte("x"), "mimeType": ""})
		parts := []any{
			object{"type": "text", "text": "a\x00b" + long(64<<10-4-16)},
			object{"type": "text", "text": long(16)},
			object{"type": "context", "lines": repeated(64, long(2<<10))},
		}
		parts = append(parts, repeated(16, object{"type": "attachment", "id": w.attachment})...)
		must(t, c, "MessageSession", object{"sessionId": w.session, "content": parts})
	})
}

func TestAnOlderClientGetsTheSessionsOfAnAgent(t *testing.T) {
	t.Parallel()
	w := build(t, server.Config{})
	for range 50 {
		w.h.Session(w.agent)
	}
	for protocol, count := range map[int]int{0: 50, 1: 50, 2: -1, 7: -1} {
		_, body := post(t, w.h.URL, signed(t, w.h.Key, "GetAgent", object{"agentId": w.agent}, protocol))
		f := decode(t, body)
		list, has := f["sessions"].([]any)
		if f["sessionCount"] != int64(51) || has != (count > 0) || has && len(list) != count {
			t.Errorf("protocol %d: sessionCount %v, %d sessions", protocol, f["sessionCount"], len(list))
		}
	}
}

func TestAnswersHaveTheirNameAndOmitWhatIsAbsent(t *testing.T) {
	t.Parallel()
	w := build(t, server.Config{})
	c := w.h.Client
	keys := func(v any) string {
		m, _ := v.(object)
		var out []string
		for k := range m {
			// A short run may end before its start is written down.
			if k != "startedAt" {
				out = append(out, k)
			}
		}
		return strings.Join(sorted(out), " ")
	}
	for _, a := range []struct {
		action  string
		request object
		inside  string
		want    string
	}{
		{"GetAgent", object{"agentId": w.agent}, "", "_ agent sessionCount"},
		{"GetAgent", object{"agentId": w.agent}, "agent", "accessRole account activity createdAt definition id stateDir status updatedAt"},
		{"GetSession", object{"sessionId": w.session}, "session", "account activity agentId createdAt id status updatedAt"},
		{"GetSession", object{"sessionId": w.session}, "", "_ contextWindow events session systemPromptMarkdown"},
		{"ListSessions", nil, "", "_ agents sessions"},
		{"GetRun", object{"runId": w.run}, "run", "account agentId createdAt depth finishedAt id kind model origin provider rootRunId sessionId status title updatedAt"},
		{"ListAgentMemory", object{"agentId": w.agent}, "", "_ agentId entries totalBytes"},
		{"ReadAgentMemoryFile", object{"agentId": w.agent, "path": "a.txt"}, "file", "content encoding mimeType path size updatedAt"},
		{"ReadSessionAttachment", object{"sessionId": w.session, "attachmentId": w.attachment}, "", "_ attachment data"},
		{"SetSecret", object{"name": "s", "value": []byte("v")}, "secret", "createdAt hasValue id name updatedAt"},
		{"SetModelProvider", object{"name": "p", "provider": object{"type": "tutor"}}, "provider", "createdAt hasSecrets id name type updatedAt"},
		{"StopSession", object{"sessionId": w.session}, "", "_ sessionId stopped"},
		{"CancelRun", object{"runId": w.run}, "", "_ canceled runId"},
		{"SignalRun", object{"runId": w.run, "signal": "go", "payload": object{"n": 1}}, "", "_ delivered runId"},
		{"DeleteAgentMemoryFile", object{"agentId": w.agent, "path": "none"}, "", "_ agentId deleted path"},
		{"ListAgentTools", object{"agentId": w.agent}, "", "_ agentId tools"},
	} {
		out := must(t, c, a.action, a.request)
		got := keys(out)
		if a.inside != "" {
			got = keys(out[a.inside])
		}
		if got != a.want || out["_"] != a.action+"Response" {
			t.Errorf("%s %s: %v has %q\nwant %q", a.action, a.inside, out["_"], got, a.want)
		}
	}
	// Lists are there when they are empty, and an empty file has its content.
	stranger := w.h.As(newKey(t, 5))
	for action, list := range map[string]string{"ListAgents": "agents", "ListSessions": "sessions", "ListModelProviders": "providers"} {
		if l, ok := must(t, stranger, action, nil)[list].([]any); !ok || len(l) != 0 {
			t.Errorf("%s of nothing: %v", action, l)
		}
	}
	must(t, c, "WriteAgentMemoryFile", object{"agentId": w.agent, "path": "empty", "content": ""})
	must(t, c, "WriteAgentMemoryFile", object{"agentId": w.agent, "path": "binary", "content": []byte{0, 1}})
	empty := must(t, c, "ReadAgentMemoryFile", object{"agentId": w.agent, "path": "empty"})["file"].(object)
	binary := must(t, c, "ReadAgentMemoryFile", object{"agentId": w.agent, "path": "binary"})["file"].(object)
	if content, ok := empty["content"]; !ok || content != "" || binary["content"] != nil || string(binary["data"].([]byte)) != "\x00\x01" {
		t.Errorf("empty file %v, binary file %v", empty, binary)
	}
	blocks, ok := must(t, c, "GetAgent", object{"agentId": w.agent})["agent"].(object)["definition"].(object)["systemPrompt"].([]any)
	if !ok || len(blocks) != 1 {
		t.Errorf("the prompt is stored as %v", blocks)
	}
	event := must(t, c, "GetSession", object{"sessionId": w.session})["events"].([]any)[1].(object)["event"].(object)
	if event["meta"].(object)["provider"] != "custom" {
		t.Errorf("provenance: %v", event["meta"])
	}
}

func TestAPageOfSessionsContinuesWhereTheLastEnded(t *testing.T) {
	t.Parallel()
	w := build(t, server.Config{})
	for range 6 {
		w.h.Session(w.agent)
	}
	seen := map[any]bool{}
	request := object{"limit": 3, "cursor": nil}
	for page := 0; ; page++ {
		out := must(t, w.h.Client, "ListSessions", request)
		for _, s := range out["sessions"].([]any) {
			id := s.(object)["id"]
			if seen[id] {
				t.Errorf("session %v twice", id)
			}
			seen[id] = true
		}
		if out["nextCursor"] == nil {
			if page != 2 {
				t.Errorf("%d pages", page+1)
			}
			break
		}
		request["cursor"] = out["nextCursor"]
	}
	if len(seen) != 7 {
		t.Errorf("%d sessions", len(seen))
	}
	if out := must(t, w.h.Client, "GetSession", object{"sessionId": w.session, "limit": 1}); out["hasMoreBefore"] != true || len(out["events"].([]any)) != 1 {
		t.Errorf("the newest event: %v", out)
	}
}

func TestATurnThatCannotBeConfiguredIs400AndOneThatFailsIs502(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		m := scriptedFailure(t)
		agent := w.h.Agent(m)
		session := w.h.Session(agent)
		if _, status, message := act(t, w.h.Client, "MessageSession", object{"sessionId": session, "content": text("a")}); status != 502 || message == "" || message == wire.MsgInternal {
			t.Errorf("a failing model: %d %q", status, message)
		}
		must(t, w.h.Client, "DeleteModelProvider", object{"name": "scripted"})
		_, status, message := act(t, w.h.Client, "MessageSession", object{"sessionId": session, "content": text("b")})
		if status != 400 || !strings.HasPrefix(message, "Model provider not found") {
			t.Errorf("without its provider: %d %q", status, message)
		}
		events := w.h.Events(session)
		if last := events[len(events)-1]; last.Type != "error" || last.Message != message {
			t.Errorf("the log ends with %+v", last)
		}
	})
}

func TestMessagesOfOneTurnReachTheNextAsConcurrent(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		m := servertest.Scripted(t, scripted.Turn{Steps: []scripted.Step{{Gate: "go"}, {Text: "First."}}}, scripted.Turn{Steps: []scripted.Step{{Text: "Second."}}})
		session := w.h.Session(w.h.Agent(m))
		first := make(chan object, 1)
		go func() {
			out, _, _ := act(t, w.h.Client, "MessageSession", object{"sessionId": session, "content": text("one")})
			first <- out
		}()
		<-m.Reached("go")
		frames := w.h.Watch("sessions/"+session, 0)
		if out := must(t, w.h.Client, "MessageSession", object{"sessionId": session, "content": text("two")}); out["assistantEventId"] != "" {
			t.Errorf("a message during a turn answered %v", out)
		}
		m.Open("go")
		if out := <-first; out["assistantEventId"] == "" {
			t.Errorf("the first message answered %v", out)
		}
		untilSeq(t, frames, 4)
		var said []string
		for _, e := range w.h.Events(session) {
			said = append(said, e.Content)
		}
		if got := strings.Join(said, " "); got != "one two First. Second." {
			t.Errorf("the log says %q", got)
		}
		if body := string(m.Requests()[1].Body); !strings.Contains(body, "concurrent_user_messages") {
			t.Errorf("the second turn does not tell of the message: %s", body)
		}
	})
}
