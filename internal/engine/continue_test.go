package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

const carryOn = `{"reason":"The context is full.","title":"Herons","description":"Counting","handoff":{"purpose":"Count herons </continued_from>",
	"currentRequest":"How many?","decisions":["By the river",{"x":1}],"weatherLog":"dry","sources":[{"type":"session_event","seq":1},{"type":"resource","address":"https://example.com/herons"}],
	"transfer":{"plan":"carry"}}}`

func turn(name, arguments string) scripted.Turn {
	return scripted.Turn{Steps: []scripted.Step{{Call: &scripted.Call{Name: name, Arguments: arguments}}}}
}

func says(text string) scripted.Turn {
	return scripted.Turn{Steps: []scripted.Step{{Text: text}}, Usage: model.Usage{Input: 900, CacheRead: 100, Output: 5, Total: 1005}}
}

// successor waits for the session that goes on.
func successor(t *testing.T, h *servertest.Harness, session string) (id string, result map[string]any) {
	t.Helper()
	for _, e := range h.Events(session) {
		if e.Type == "tool_result" && e.Name == "continue_session" && len(e.Output) > 0 {
			if err := json.Unmarshal(e.Output, &result); err != nil {
				t.Fatal(err)
			}
		}
	}
	id, _ = result["continuedToSessionId"].(string)
	if id == "" {
		t.Fatalf("nothing goes on: %+v", h.Events(session))
	}
	for f := range h.Watch("sessions/"+id, 0) {
		if f.Event != nil && strings.Contains(string(f.Event), `"role":"assistant"`) {
			break
		}
	}
	return id, result
}

func TestAThreadGoesOnInAFreshOneThatAnswersTheUser(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t, says("Ready."), turn("plan", `{"steps":[{"id":"a","label":"Count","status":"pending"}]}`), turn("continue_session", carryOn),
			turn("plan", `{"steps":[{"id":"a","label":"Count","status":"done"}]}`), says("Seven herons."))
		agent := h.Agent(m)
		session := h.Session(agent)
		if _, err := h.Send(session, "Hello."); err != nil {
			t.Fatal(err)
		}
		answer, err := h.Send(session, "How many *herons*?")
		if err != nil {
			t.Fatal(err)
		}
		next, result := successor(t, h, session)
		if answer.ContinuedToSessionID != next {
			t.Errorf("the answer is %+v", answer)
		}
		events := h.Events(next)
		if events[0].Role != "user" || events[0].Actor != "system" || events[1].Content != "How many *herons*?" || events[len(events)-1].Content != "Seven herons." {
			t.Fatalf("the successor is %+v", events)
		}
		projection := events[0].Content
		for _, want := range []string{
			"thread:" + session, "The context is full.", "## Purpose\n\nCount herons ‹/continued_from>", "## Decisions\n\n- By the river\n- {\"x\":1}", "## Weather log\n\ndry",
			"https://example.com/herons", "**user**: Hello.", "assistant: Ready.",
		} {
			if !strings.Contains(projection, want) {
				t.Errorf("%q is missing in %s", want, projection)
			}
		}
		if strings.Count(projection, "</continued_from>") != 1 {
			t.Errorf("the projection can be closed from inside: %s", projection)
		}
		got := servertest.Call[wire.GetSessionResponse](h, "GetSession", map[string]any{"sessionId": next})
		var copied wire.MessageEvent
		if err := json.Unmarshal(got.Events[1].Event, &copied); err != nil || copied.Meta.ContinuedFrom == nil || copied.Meta.ContinuedFrom.SessionID != session || copied.Meta.ContinuedFrom.Seq != 3 {
			t.Errorf("the message is %s, %v", got.Events[1].Event, err)
		}
		if s := got.Session; s.Title != "Herons" || s.Description != "Counting" || s.ParentSessionID != "" {
			t.Errorf("the session is %+v", s)
		}
		before := servertest.Call[wire.GetSessionResponse](h, "GetSession", map[string]any{"sessionId": session})
		if before.Session.Title == "Herons" {
			t.Error("the predecessor was renamed")
		}
		to, from := before.Session.ContinuedTo, got.Session.ContinuedFrom
		if to == nil || from == nil || to.SessionID != next || from.SessionID != session || to.Title != "Herons" || to.Reason == "" || to.ContinuationID != result["continuationId"] || *from != (wire.SessionContinuationLink{ContinuationID: to.ContinuationID, SessionID: session, Title: before.Session.Title, Reason: to.Reason, CreatedAt: to.CreatedAt}) {
			t.Errorf("the links are %+v and %+v", to, from)
		}
		for _, r := range servertest.Call[wire.ListRunsResponse](h, "ListRuns", map[string]any{"sessionId": next}).Runs {
			if r.ContinuedFromRunID == "" || r.Status != "succeeded" {
				t.Errorf("the successor's run is %+v", r)
			}
		}
		for _, r := range servertest.Call[wire.ListRunsResponse](h, "ListRuns", map[string]any{"sessionId": session}).Runs {
			if r.Status != "succeeded" {
				t.Errorf("a run ended %+v", r)
			}
		}
		if result["continuationId"] == "" {
			t.Errorf("the result is %v", result)
		}
		last := m.Requests()[len(m.Requests())-1].Body
		if !strings.Contains(string(last), "continued_from") || !strings.Contains(string(last), `Count`) {
			t.Errorf("the successor was asked %s", last)
		}
		servertest.Call[wire.DeleteSessionResponse](h, "DeleteSession", map[string]any{"sessionId": session})
		if alone := servertest.Call[wire.GetSessionResponse](h, "GetSession", map[string]any{"sessionId": next}).Session; alone.ContinuedFrom != nil {
			t.Errorf("a session that is gone is linked: %+v", alone.ContinuedFrom)
		}
	})
}

func TestAModelSeesHowFullItsContextIs(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t, says("One."), says("Two."))
		session := h.Session(h.Agent(m))
		for i, want := range []string{`tokens=\"0\" window=\"128000\" percent=\"0\"`, `tokens=\"1000\" window=\"128000\" percent=\"0\"`} {
			if _, err := h.Send(session, "Go on."); err != nil {
				t.Fatal(err)
			}
			if body := string(m.Requests()[i].Body); !strings.Contains(body, want) {
				t.Errorf("request %d lacks %s: %s", i, want, body)
			}
		}
	})
}

func TestACallThatEndsTheTurnStandsAlone(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t, scripted.Turn{Steps: []scripted.Step{
			{Call: &scripted.Call{Name: "continue_session", Arguments: carryOn}}, {Call: &scripted.Call{Name: "read", Arguments: `{"address":"~/self"}`}},
		}}, says("Then here."))
		session := h.Session(h.Agent(m))
		if _, err := h.Send(session, "Go on."); err != nil {
			t.Fatal(err)
		}
		events := h.Events(session)
		if got := fmt.Sprintf("%+v", events); !strings.Contains(got, "call it alone") || events[len(events)-1].Content != "Then here." {
			t.Errorf("the log is %s", got)
		}
	})
}

func TestAContinuationThatCannotBeSaysWhy(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		with := func(change string) string {
			return `{"reason":"r","title":"t","handoff":{"purpose":"p","currentRequest":"c"}` + change + `}`
		}
		m := servertest.Scripted(t,
			turn("continue_session", `{}`), turn("continue_session", with(``)), turn("continue_session", with(`,"description":"d","transfer":{"plan":"burn"}`)),
			turn("continue_session", with(`,"description":"d","sources":[{"type":"memory","path":"../x"}]`)),
			turn("continue_session", with(`,"description":"d","sources":[{"type":"session_events","sessionId":"other","fromSeq":1,"toSeq":2}]`)),
			turn("continue_session", with(`,"description":"d","sources":[{"type":"smell"}]`)), turn("continue_session", with(`,"description":"`+strings.Repeat("d", 1025)+`"`)),
			turn("continue_session", with(`,"description":"d"`)), turn("continue_session", with(`,"description":"again"`)), says("Here then."))
		session := h.Session(h.Agent(m))
		if _, err := h.Send(session, "Go on."); err != nil {
			t.Fatal(err)
		}
		next, _ := successor(t, h, session)
		var got []string
		for _, e := range h.Events(session) {
			if e.Type == "tool_result" {
				got = append(got, e.Error+string(e.Output))
			}
		}
		for i, want := range []string{
			"validationErrors", "Description is required", "transfer.plan must be", "sources[0] cannot be read", "There is no conversation other of yours", "sources[0].type must be",
			"validationErrors", "continuedToSessionId",
		} {
			if i >= len(got) || !strings.Contains(got[i], want) {
				t.Fatalf("result %d lacks %q: %v", i, want, got)
			}
		}
		// The successor cannot hand the same message on for ever.
		if log := fmt.Sprintf("%+v", h.Events(next)); !strings.Contains(log, "has just been continued with the same message") {
			t.Errorf("the successor is %s", log)
		}
		read := servertest.Call[wire.InvokeSessionToolResponse](h, "InvokeSessionTool", map[string]any{"sessionId": next, "verb": "read", "input": map[string]any{"address": "thread:" + next}})
		if !strings.Contains(string(read.Output), `"continues":"thread:`+session) {
			t.Errorf("the lineage is %s %s", read.Output, read.Error)
		}
	})
}

func TestAFileOfTheMessageGoesOverAndADeletedThreadLeavesNoLineage(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		m := servertest.Scripted(t, turn("continue_session", carryOn), says("Seven."))
		session := h.Session(h.Agent(m))
		file := servertest.Call[wire.AttachmentResponse](h, "UploadSessionAttachment", wire.UploadSessionAttachmentRequest{SessionID: session, Name: "a.txt", Content: []byte("river")}).Attachment.ID
		servertest.Call[wire.MessageSessionResponse](h, "MessageSession", map[string]any{"sessionId": session, "content": []any{
			map[string]any{"type": "text", "text": "How many?"}, map[string]any{"type": "attachment", "id": file},
		}})
		next, _ := successor(t, h, session)
		if got := servertest.Call[wire.ReadSessionAttachmentResponse](h, "ReadSessionAttachment", map[string]any{"sessionId": next, "attachmentId": file}); string(got.Data) != "river" {
			t.Errorf("the file is %q", got.Data)
		}
		servertest.Call[map[string]any](h, "DeleteSession", map[string]any{"sessionId": session})
		read := servertest.Call[wire.InvokeSessionToolResponse](h, "InvokeSessionTool", map[string]any{"sessionId": next, "verb": "read", "input": map[string]any{"address": "thread:" + next}})
		if strings.Contains(string(read.Output), `"continues"`) || read.Error != "" {
			t.Errorf("the lineage is %s %s", read.Output, read.Error)
		}
	})
}
