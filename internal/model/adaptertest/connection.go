package adaptertest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
)

func testUnreachable(t *testing.T, a Adapter) {
	s := Serve(t)
	address := s.BaseURL(a.Dialect)
	_ = s.Close()
	p := a.provider(t, address)
	_, err := Collect(t.Context(), p, a.hello())
	RequireKind(t, err, model.ErrUnreachable)
	_, err = p.Models(t.Context())
	RequireKind(t, err, model.ErrUnreachable)
	_, err = Collect(t.Context(), a.provider(t, "http://a b"), a.hello())
	if e, ok := model.AsError(err); !ok || e.Kind == "" {
		t.Errorf("a base URL that is none: %v", err)
	}
}

func testCancel(t *testing.T, a Adapter) {
	s := Serve(t, scripted.Turn{Steps: []scripted.Step{{Text: "first"}, {Gate: "wait"}, {Text: "never"}}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for ev, err := range a.provider(t, s.BaseURL(a.Dialect)).Stream(ctx, a.hello()) {
		last = err
		if ev.Kind == model.EventTextDelta {
			<-s.Reached("wait")
			cancel()
		}
	}
	RequireKind(t, last, model.ErrCanceled)
	requireAborted(t, s)
}

func testLeave(t *testing.T, a Adapter) {
	s := Serve(t, scripted.Turn{Steps: []scripted.Step{{Text: "first"}, {Gate: "wait"}, {Text: "never"}}})
	for ev, err := range a.provider(t, s.BaseURL(a.Dialect)).Stream(t.Context(), a.hello()) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind == model.EventTextDelta {
			<-s.Reached("wait")
			break
		}
	}
	requireAborted(t, s)
}

// requireAborted waits until the server has noticed that the client is gone.
func requireAborted(t *testing.T, s *scripted.Server) {
	t.Helper()
	req := s.Requests()[0]
	<-req.Ended
	if !req.Aborted() {
		t.Error("the connection was not closed")
	}
}

func testKey(t *testing.T, a Adapter) {
	turns := []scripted.Turn{
		scripted.FailWith(http.StatusUnauthorized, "", "the key "+Key+" is wrong"),
		scripted.FailWith(http.StatusInternalServerError, "", strings.Repeat("x", 590)+Key),
		{Status: http.StatusBadGateway, Body: "<html>" + Key},
		{Steps: []scripted.Step{{Text: "I"}, {Fail: "bad key " + Key}}},
		{Steps: []scripted.Step{{Raw: `{"` + Key}}},
	}
	for _, turn := range turns {
		_, err := a.play(t, turn)
		e, ok := model.AsError(err)
		if !ok {
			t.Errorf("got %v, want a *model.Error", err)
			continue
		}
		for cause := error(e); cause != nil; {
			if strings.Contains(cause.Error(), Key) || strings.Contains(cause.Error(), "sk-canary") {
				t.Errorf("the key shows in %q", cause)
			}
			u, ok := cause.(interface{ Unwrap() error })
			if !ok {
				break
			}
			cause = u.Unwrap()
		}
	}
	s := Serve(t, scripted.Say("hi"))
	if _, err := Collect(t.Context(), a.provider(t, s.BaseURL(a.Dialect)), a.hello()); err != nil {
		t.Fatal(err)
	}
	if path := s.Requests()[0].Path; strings.Contains(path, Key) {
		t.Errorf("the key is in the address %s", path)
	}
}

func testRedirect(t *testing.T, a Adapter) {
	visited := make(chan string, 8)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { visited <- r.URL.Path }))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	_, err := Collect(t.Context(), a.provider(t, first.URL), a.hello())
	RequireKind(t, err, model.ErrBadRequest)
	if len(visited) != 0 {
		t.Errorf("the redirect was followed to %s", <-visited)
	}
}

func testModels(t *testing.T, a Adapter) {
	s, err := scripted.New(scripted.Options{Script: scripted.Script{Models: []string{"m-1", "m-2"}, Key: ""}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := a.provider(t, s.BaseURL(a.Dialect))
	list, err := p.Models(t.Context())
	if err != nil || len(list) != 2 || list[0] != (model.ModelRef{ID: "m-1", Name: "m-1"}) || list[1].ID != "m-2" {
		t.Errorf("Models = %v, %v", list, err)
	}
	if p.Dialect() != a.Dialect {
		t.Errorf("Dialect = %s", p.Dialect())
	}
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	defer broken.Close()
	_, err = a.provider(t, broken.URL).Models(t.Context())
	RequireKind(t, err, model.ErrInvalidResponse)
}
