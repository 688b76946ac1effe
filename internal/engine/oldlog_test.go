package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/postgres"
	"github.com/loam-agents/loam/internal/store/sqlite"
	"github.com/loam-agents/loam/wire"
)

// oldLog is a log as a database holds it, in payloads of one version.
type oldLog struct {
	Plan   json.RawMessage
	Events []struct {
		Type, Actor string
		Payload     json.RawMessage
	}
}

func readOldLog(t *testing.T, version int) (l oldLog) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("oldlog-%d.json", version)))
	if err == nil {
		err = json.Unmarshal(body, &l)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// put writes the log of a session into the database of a server that stands still.
func (l oldLog) put(t *testing.T, cfg server.Config, session string, version int) {
	t.Helper()
	open := func() (store.Store, error) {
		if cfg.DatabaseURL != "" {
			return postgres.Open(t.Context(), postgres.Options{URL: cfg.DatabaseURL})
		}
		return sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(cfg.DataDir, "loam.db")})
	}
	s, err := open()
	if err != nil {
		t.Fatal(err)
	}
	err = s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
		for i, e := range l.Events {
			// As programs write it, without the spaces that people read by.
			payload, err := json.Marshal(e.Payload)
			if err != nil {
				return err
			}
			_, err = tx.Exec(`INSERT INTO session_events (session_id, seq, id, type, actor, version, payload, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
				session, i+1, fmt.Sprint("event-", i+1), e.Type, e.Actor, version, string(payload), 1000+i)
			if err != nil {
				return err
			}
		}
		_, err := tx.Exec(`UPDATE sessions SET plan = ?, last_seq = ? WHERE id = ?`, string(l.Plan), len(l.Events), session)
		return err
	})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestALogOfAnyVersionIsReadAndReplayedTheSame puts one conversation into databases as each version wrote it.
func TestALogOfAnyVersionIsReadAndReplayedTheSame(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		cfg.DataDir = t.TempDir()
		type seen struct {
			Payload string
			Events  []json.RawMessage
			Plan    *wire.RunPlan
		}
		m := servertest.Scripted(t, scripted.Turn{Repeat: true, Steps: []scripted.Step{{Text: "Yes."}}})
		h := servertest.Start(t, cfg)
		agent := h.Agent(m)
		var all []seen
		for version := range 2 {
			c := &conversation{Harness: h, t: t, model: m, agent: agent, session: h.Session(agent)}
			file := servertest.Call[wire.AttachmentResponse](h, "UploadSessionAttachment", wire.UploadSessionAttachmentRequest{
				SessionID: c.session, Name: "leaf.png", Content: []byte("\x89PNG\r\n\x1a\n\x00"),
			})
			h.Stop()
			readOldLog(t, version).put(t, cfg, c.session, version)
			h = servertest.Start(t, cfg)
			c.Harness = h
			var now seen
			got := servertest.Call[wire.GetSessionResponse](h, "GetSession", map[string]any{"sessionId": c.session})
			now.Plan = got.Session.Plan
			for _, e := range got.Events {
				var fields any
				if err := json.Unmarshal(e.Event, &fields); err != nil {
					t.Fatal(err)
				}
				event, err := json.Marshal(fields)
				if err != nil {
					t.Fatal(err)
				}
				now.Events = append(now.Events, event)
			}
			var ref struct{ Attachments []wire.AttachmentRef }
			if err := json.Unmarshal(got.Events[0].Event, &ref); err != nil || ref.Attachments[0].ID != file.Attachment.ID {
				t.Fatalf("the fixture names the file %+v, %v", ref, err)
			}
			servertest.Call[wire.ReadSessionAttachmentResponse](h, "ReadSessionAttachment", map[string]any{"sessionId": c.session, "attachmentId": ref.Attachments[0].ID})
			c.say("And this?")
			requests := m.Requests()
			now.Payload = c.neutral(requests[len(requests)-1].Body, file.Attachment.ID)
			all = append(all, now)
		}
		if diff := cmp.Diff(all[1], all[0]); diff != "" {
			t.Errorf("version 0 is read otherwise than the present one (-present +0):\n%s", diff)
		}
		if len(all[0].Events) != 7 || all[0].Plan == nil || len(all[0].Plan.Steps) != 3 {
			t.Errorf("%d events, plan %+v", len(all[0].Events), all[0].Plan)
		}
	})
}
