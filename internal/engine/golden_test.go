package engine_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

var update = flag.Bool("update", false, "write the golden payloads anew")

// The payloads stand in testdata for a reader to see what a provider is sent; a change of them is a decision.
func TestProvidersAreSentTheGoldenPayloads(t *testing.T) {
	t.Parallel()
	c := talk(t, server.Config{},
		scripted.Turn{Steps: []scripted.Step{{Text: "I note it."},
			{Call: &scripted.Call{ID: "c1", Name: "write", Arguments: `{"address":"~/memory/tea.md","content":"green"}`}},
			{Call: &scripted.Call{ID: "c2", Name: "plan", Arguments: `{"title":"Tea","steps":[{"id":"a","label":"Note","status":"done"},{"id":"b","label":"Brew","status":"running"}]}`}},
			{Call: &scripted.Call{ID: "c3", Name: "status", Arguments: `{"title":"Tea","description":"Noted."}`}}}},
		scripted.Turn{Steps: []scripted.Step{{Call: &scripted.Call{ID: "c4", Name: "read", Arguments: `{"address":"~/memory/tea.md"}`}}, {Call: &scripted.Call{ID: "c5", Name: "read", Arguments: ``}},
			{Call: &scripted.Call{ID: "c6", Name: "plan", Arguments: `{"title":"Tea","steps":[{"id":"a","label":"Note","status":"done"},{"id":"b","label":"Brew","status":"skipped"}]}`}}}},
		scripted.Say("Green."), scripted.Say("Nothing new."),
	)
	file := servertest.Call[wire.AttachmentResponse](c.Harness, "UploadSessionAttachment", wire.UploadSessionAttachmentRequest{
		SessionID: c.session, Name: "leaf.png", Content: []byte("\x89PNG\r\n\x1a\n\x00"),
	})
	servertest.Call[wire.MessageSessionResponse](c.Harness, "MessageSession", map[string]any{
		"sessionId": c.session, "content": []any{
			map[string]any{"type": "text", "text": "I like green tea"},
			map[string]any{"type": "context", "lines": []string{"Window: <shop>", "Tab: tea"}},
			map[string]any{"type": "attachment", "id": file.Attachment.ID},
		},
	})
	c.say("What is new?")
	c.stable()
	named := []string{"first", "after-calls", "after-reads", "next-turn"}
	if len(c.model.Requests()) != len(named) {
		t.Fatalf("%d requests", len(c.model.Requests()))
	}
	for i, r := range c.model.Requests() {
		golden(t, fmt.Sprintf("payload-%d-%s.json", i+1, named[i]), c.neutral(r.Body, file.Attachment.ID))
	}
	if bytes.Contains(c.model.Requests()[0].Body, []byte("image_url")) {
		t.Error("an attachment was sent as an image")
	}
}

// neutral is a payload, indented, without what differs from run to run.
func (c *conversation) neutral(body []byte, attachment string) string {
	text := string(body)
	for from, to := range map[string]string{c.session: "SESSION", c.Key.ID().String(): "ACCOUNT", attachment: "ATTACHMENT"} {
		text = strings.ReplaceAll(text, from, to)
	}
	text = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`).ReplaceAllString(text, "TIME")
	text = regexp.MustCompile(`updatedAt\\":\d{13}`).ReplaceAllString(text, `updatedAt\":0`)
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(text), "", "  "); err != nil {
		c.t.Fatal(err)
	}
	return out.String() + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", name, diff)
	}
}

// 8 KiB is the promise of design §8, whatever the number of tools.
func TestAnEmptyTurnOfADefaultAgentCostsLessThan8KiB(t *testing.T) {
	t.Parallel()
	c := talk(t, server.Config{}, scripted.Say("Hello."))
	c.say("hi")
	if n := len(c.model.Requests()[0].Body); n > 8<<10 {
		t.Errorf("the payload has %d bytes", n)
	} else {
		t.Logf("the payload has %d bytes", n)
	}
}
