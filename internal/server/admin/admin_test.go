package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/server/admin"
)

func ask(h http.Handler, path, host string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestReadinessSaysWhichCheckFailedAndWhy(t *testing.T) {
	t.Parallel()
	var broken error
	options := admin.Options{Metrics: http.NotFoundHandler(), Checks: []admin.Check{
		{Name: "first", Ready: func(context.Context) error { return nil }},
		{Name: "second", Ready: func(ctx context.Context) error {
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("a check has no end")
			}
			return broken
		}},
		{Name: "third", Ready: func(context.Context) error { return nil }},
	}}
	h := admin.New(options)
	for _, c := range []struct {
		broken error
		status int
		want   admin.Health
	}{
		{nil, 200, admin.Health{Status: "ok", Checks: []admin.Result{{Name: "first", OK: true}, {Name: "second", OK: true}, {Name: "third", OK: true}}}},
		{errors.New("it is away"), 503, admin.Health{Status: "unavailable", Checks: []admin.Result{
			{Name: "first", OK: true}, {Name: "second", Reason: "it is away"}, {Name: "third", OK: true},
		}}},
	} {
		broken = c.broken
		w := ask(h, "/readyz", "127.0.0.1:1")
		var got admin.Health
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || w.Code != c.status || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("status %d, headers %v (-want +got):\n%s", w.Code, w.Header(), diff)
		}
		if w := ask(h, "/livez", "127.0.0.1:1"); w.Code != 200 {
			t.Errorf("livez looks at what readyz is for: %d", w.Code)
		}
	}
}

func TestOnlyARemoteListenerAnswersUnderOtherNames(t *testing.T) {
	t.Parallel()
	local, remote := admin.New(admin.Options{Metrics: http.NotFoundHandler()}), admin.New(admin.Options{Metrics: http.NotFoundHandler(), Remote: true})
	for host, allowed := range map[string]bool{
		"127.0.0.1:3051": true, "127.8.8.8": true, "localhost": true, "LOCALHOST:1": true, "[::1]:3051": true, "[::ffff:127.0.0.1]": true,
		"rebound.example": false, "192.0.2.1:3051": false, "localhost.example": false, "": false,
	} {
		want := http.StatusMisdirectedRequest
		if allowed {
			want = http.StatusOK
		}
		if w := ask(local, "/livez", host); w.Code != want {
			t.Errorf("%q on loopback: %d, want %d", host, w.Code, want)
		}
		if w := ask(remote, "/livez", host); w.Code != http.StatusOK {
			t.Errorf("%q on a listener for others: %d", host, w.Code)
		}
	}
}
