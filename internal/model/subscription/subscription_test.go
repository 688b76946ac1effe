package subscription_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/model/subscription"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/vault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, storetest.Leaks()) }

// rig is a service on a real store and vault, with a clock that stands still and an issuer of the test.
type rig struct {
	*subscription.Service
	t     *testing.T
	store store.Store
	clock *clock.Fake
	vault *vault.Vault
}

func setup(t *testing.T, s store.Store, answer http.HandlerFunc) *rig {
	t.Helper()
	r := &rig{t: t, store: s, clock: clock.NewFake(time.UnixMilli(1_800_000_000_000))}
	var err error
	if r.vault, err = vault.Open(t.Context(), s, vault.FileKey{Path: filepath.Join(t.TempDir(), "vault.key")}, r.clock, id.Sequence()); err != nil {
		t.Fatal(err)
	}
	issuer := httptest.NewServer(answer)
	t.Cleanup(issuer.Close)
	r.Service = subscription.New(subscription.Options{
		ClientID: "c", Issuer: issuer.URL, HTTP: issuer.Client(), Store: s, Vault: r.vault, Clock: r.clock, Changed: func(store.Tx, string) {},
	})
	return r
}

func (r *rig) start(id string) {
	r.t.Helper()
	err := r.store.Write(r.t.Context(), store.Interactive, func(tx store.Tx) error {
		_, err := r.Start(tx, "z", id)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) status(id string) (status string) {
	r.t.Helper()
	err := r.store.Read(r.t.Context(), func(tx store.Tx) error {
		l, err := r.Status(tx, "z", id)
		status = l.Status
		return err
	})
	if fault.CodeOf(err) == fault.NotFound {
		return "missing"
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return status
}

func TestASignInLivesTenMinutesAndIsRememberedAsLong(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		r := setup(t, s, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"access_token":"a"}`)) })
		r.start("one")
		for _, step := range []struct {
			after time.Duration
			want  string
		}{{10*time.Minute - time.Millisecond, "pending"}, {time.Millisecond, "failed"}, {10*time.Minute - time.Millisecond, "failed"}, {time.Millisecond, "missing"}} {
			r.clock.Advance(step.after)
			if got := r.status("one"); got != step.want {
				t.Errorf("it is %s, want %s", got, step.want)
			}
		}
		r.start("two")
		if err := r.Submit(t.Context(), "z", "two", "code"); err != nil || r.status("two") != "completed" {
			t.Errorf("submitted: %v, %s", err, r.status("two"))
		}
		r.clock.Advance(10*time.Minute - time.Millisecond)
		if got := r.status("two"); got != "completed" {
			t.Errorf("a finished one is %s", got)
		}
		r.clock.Advance(time.Millisecond)
		if got := r.status("two"); got != "missing" {
			t.Errorf("a finished one of long ago is %s", got)
		}
		// Tokens without a life have an hour.
		if token, err := r.Token(t.Context(), "z", subscription.SecretName); err != nil || token.Access != "a" || token.Account != "" {
			t.Errorf("its token: %+v, %v", token, err)
		}
	})
}

func TestWhoWaitsForARenewalMayLeave(t *testing.T) {
	t.Parallel()
	asked, leave := make(chan struct{}), make(chan struct{})
	r := setup(t, storetest.SQLite(t), func(w http.ResponseWriter, q *http.Request) {
		if q.FormValue("grant_type") == "refresh_token" {
			asked <- struct{}{}
			<-leave
		}
		_, _ = w.Write([]byte(`{"access_token":"a","refresh_token":"r","expires_in":61}`))
	})
	r.start("one")
	if err := r.Submit(t.Context(), "z", "one", "code"); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(time.Second)
	renewed := make(chan error, 1)
	go func() {
		_, err := r.Token(context.WithoutCancel(t.Context()), "z", subscription.SecretName)
		renewed <- err
	}()
	<-asked
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Token(gone, "z", subscription.SecretName); err == nil {
		t.Error("somebody who left was given a token")
	}
	if _, err := r.Token(t.Context(), "y", subscription.SecretName); fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("another account waits, or has a token: %v", err)
	}
	close(leave)
	if err := <-renewed; err != nil {
		t.Error(err)
	}
}
