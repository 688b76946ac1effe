package operation_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/postgres"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/wire"
)

// On PostgreSQL a long write loses against short ones to the same session, again and again, unless they take turns.
func TestWhoChangesASessionWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	url := storetest.PostgresURL(t)
	h := servertest.Start(t, server.Config{DatabaseURL: url})
	agent := h.Agent(servertest.Scripted(t, scripted.Turn{Repeat: true, Status: 500}))
	other, err := postgres.Open(t.Context(), postgres.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	session := h.Session(agent)
	if _, err := h.Send(session, "fail"); err == nil {
		t.Fatal("the turn succeeded")
	}
	for _, step := range []struct {
		name   string
		more   object
		status int
	}{
		{"RetrySession", nil, http.StatusBadGateway},
		{"MessageSession", object{"content": []any{object{"type": "text", "text": "again"}}}, http.StatusBadGateway},
		{"StopSession", nil, http.StatusOK},
		{"DeleteSession", nil, http.StatusOK},
	} {
		request := object{"_": step.name, "sessionId": session}
		for k, v := range step.more {
			request[k] = v
		}
		done := make(chan error, 1)
		inTurn(t, other, wire.KeySession+session, func() {
			go func() {
				_, err := h.Do(context.WithoutCancel(t.Context()), request)
				done <- err
			}()
			if !waits(t, other, done) {
				t.Errorf("%s does not wait for its turn", step.name)
			}
		})
		if err := <-done; status(err) != step.status {
			t.Errorf("%s = %v", step.name, err)
		}
	}
}

func status(err error) int {
	if refused, ok := err.(*client.Error); ok {
		return refused.Status
	}
	if err != nil {
		return 0
	}
	return http.StatusOK
}

// inTurn runs fn while a writer holds a key.
func inTurn(t *testing.T, s store.Store, key string, fn func()) {
	t.Helper()
	err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
		err := tx.Lock(key)
		fn()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// waits tells whether somebody waits for a lock before done receives, which stays as it is then.
func waits(t *testing.T, s store.Store, done chan error) bool {
	t.Helper()
	for {
		n := 0
		err := s.Read(t.Context(), func(tx store.Tx) error {
			return tx.QueryRow(`SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
				WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted`).Scan(&n)
		})
		if err != nil {
			t.Error(err)
			return false
		}
		if n > 0 {
			return true
		}
		select {
		case err := <-done:
			done <- err
			return false
		default:
		}
	}
}
