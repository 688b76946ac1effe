package operation_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
)

// logged keeps everything a server logs.
type logged struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func TestASecretIsFoundInNoAnswerLogEventOrFile(t *testing.T) {
	t.Parallel()
	const canary = "sk-canary-3f9a2c71d5"
	var log logged
	dir := t.TempDir()
	h := servertest.Start(t, server.Config{
		DataDir: dir, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	m, err := scripted.New(scripted.Options{Script: scripted.Script{
		// The service is so careless as to repeat the key that it refuses.
		Key: canary, Turns: []scripted.Turn{{Steps: []scripted.Step{{Text: "Hi."}}}, {Repeat: true, Status: 401, ErrorMessage: "bad key"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	var answers []any
	do := func(name string, request object) object {
		out, status, text := act(t, h.Client, name, request)
		answers = append(answers, out, status, text)
		return out
	}
	do("SetSecret", object{"name": "key", "value": []byte(canary), "metadata": object{"kind": "api-key"}})
	do("SetModelProvider", object{"name": "scripted", "provider": object{
		"type": "custom", "baseUrl": m.BaseURL(model.OpenAIChat), "secretRefs": object{"apiKey": "key"},
	}})
	agent := do("CreateAgent", object{"definition": definition(nil)})["agentId"]
	session := do("CreateSession", object{"agentId": agent})["sessionId"]
	for range 2 {
		do("MessageSession", object{"sessionId": session, "content": text("hello")})
	}
	do("ListModelProviders", nil)
	do("ListProviderModels", object{"provider": "scripted"})
	do("GetSession", object{"sessionId": session})
	do("SetSecret", object{"name": "key", "value": []byte(canary + strings.Repeat("x", 64<<10))})
	if len(m.Requests()) == 0 || !strings.Contains(m.Requests()[0].Header.Get("Authorization"), canary) {
		t.Fatal("the model never saw the key: the test proves nothing")
	}
	h.Stop()
	if strings.Contains(fmt.Sprint(answers), canary) {
		t.Errorf("an answer holds the secret: %v", answers)
	}
	if bytes.Contains(log.all.Bytes(), []byte(canary)) {
		t.Error("the log holds the secret")
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(canary)) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
