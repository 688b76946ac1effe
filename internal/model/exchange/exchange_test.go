package exchange_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/exchange"
)

const key = "sk-secret"

func client() *exchange.Client { return exchange.New(http.DefaultClient, "Acme", key, nil) }

func TestEveryStatusHasItsKind(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]model.ErrorKind{
		301: model.ErrBadRequest, 400: model.ErrBadRequest, 401: model.ErrBadKey, 403: model.ErrBadKey, 404: model.ErrBadRequest,
		408: model.ErrServer, 413: model.ErrContextTooLong, 429: model.ErrRateLimited, 500: model.ErrServer, 502: model.ErrServer,
		503: model.ErrOverloaded, 529: model.ErrOverloaded,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		_, err := client().Post(t.Context(), s.URL, http.Header{}, nil)
		s.Close()
		if e, ok := model.AsError(err); !ok || e.Kind != want || e.Status != status {
			t.Errorf("%d became %v", status, err)
		}
	}
}

func TestRetryAfterIsReadInEveryFormAndBounded(t *testing.T) {
	t.Parallel()
	const sent = "Mon, 05 Jan 2026 10:00:00 GMT"
	for _, tt := range []struct {
		header map[string]string
		want   time.Duration
	}{
		{nil, 0},
		{map[string]string{"Retry-After": "3"}, 3 * time.Second},
		{map[string]string{"Retry-After": "0.5"}, 500 * time.Millisecond},
		{map[string]string{"Retry-After": "3", "Retry-After-Ms": "250"}, 250 * time.Millisecond},
		{map[string]string{"Retry-After": "Mon, 05 Jan 2026 10:00:09 GMT", "Date": sent}, 9 * time.Second},
		{map[string]string{"Retry-After": "Mon, 05 Jan 2026 09:00:00 GMT", "Date": sent}, 0},
		{map[string]string{"Retry-After": "Mon, 05 Jan 2026 10:00:09 GMT", "Date": "?"}, 0},
		{map[string]string{"Retry-After": "1e9"}, time.Hour},
		{map[string]string{"Retry-After": "1e300"}, time.Hour},
		{map[string]string{"Retry-After": "-4"}, 0},
		{map[string]string{"Retry-After": "NaN"}, 0},
		{map[string]string{"Retry-After": "soon"}, 0},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for k, v := range tt.header {
				w.Header().Set(k, v)
			}
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		_, err := client().Post(t.Context(), s.URL, http.Header{}, nil)
		s.Close()
		if e, ok := model.AsError(err); !ok || e.RetryAfter != tt.want {
			t.Errorf("%v: %v, want %v", tt.header, e.RetryAfter, tt.want)
		}
	}
}

func TestAnAddressThatEgressRefusesIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(nil)
	defer s.Close()
	e, err := egress.New(egress.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = exchange.New(e.Agent(), "Acme", key, nil).Post(t.Context(), s.URL+"/secret-path", http.Header{}, nil)
	failed, ok := model.AsError(err)
	if !ok || failed.Kind != model.ErrBadRequest || failed.Retryable() || strings.Contains(failed.Message, "secret-path") {
		t.Errorf("got %v", err)
	}
}

func TestForeignTextIsOneBoundedLineWithoutTheKey(t *testing.T) {
	t.Parallel()
	c := client()
	if got := c.Scrub("a\n  b\t" + key + "\x00\xff"); got != "a b [redacted]\x00\uFFFD" {
		t.Errorf("got %q", got)
	}
	long := c.Scrub(strings.Repeat("ä", 1000))
	if len(long) > 620 || !utf8.ValidString(long) || !strings.HasSuffix(long, "…") {
		t.Errorf("%d bytes: %q", len(long), long)
	}
	if e := c.BadRequest(errors.New(key)); strings.Contains(e.Error(), key) {
		t.Errorf("the key shows in %q", e)
	}
}

func TestModelDefaultsAreMergedShallowly(t *testing.T) {
	t.Parallel()
	payload := map[string]any{"a": map[string]any{"x": 1}, "b": "<&>", "fixed": true}
	for _, tt := range []struct {
		extra map[string]any
		want  string
	}{
		{nil, `{"a":{"x":1},"b":"<&>","fixed":true}`},
		{map[string]any{"a": map[string]any{"y": 2}, "fixed": false, "new": nil}, `{"a":{"y":2},"b":"<&>","fixed":true,"new":null}`},
	} {
		got, err := exchange.Encode(payload, tt.extra, "fixed")
		if err != nil || string(got) != tt.want {
			t.Errorf("got %s, %v, want %s", got, err, tt.want)
		}
	}
	if _, err := exchange.Encode(payload, map[string]any{"bad": func() {}}); err == nil || !strings.Contains(err.Error(), `"bad"`) {
		t.Errorf("got %v, want an error that names the field", err)
	}
	if _, err := exchange.Encode([]int{1}, map[string]any{"a": 1}); err == nil {
		t.Error("a payload that is no object was merged")
	}
}

// endless is a provider whose answer has no end.
type endless struct{}

func (endless) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: endless{}}, nil
}
func (endless) Read(b []byte) (int, error) { return len(b), nil }
func (endless) Close() error               { return nil }

func TestAnAnswerWithoutAnEndIsCutAndSaidToBeTooLong(t *testing.T) {
	t.Parallel()
	c := exchange.New(&http.Client{Transport: endless{}}, "Acme", key, nil)
	res, err := c.Post(t.Context(), "http://127.0.0.1", http.Header{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, res.Body, make([]byte, 1<<20))
	got := c.Broken(t.Context(), err)
	if n != 256<<20 || got.Kind != model.ErrBadRequest || got.Retryable() || got.Message != "Acme answer is longer than 256 MiB" {
		t.Errorf("after %d bytes: %v (%s)", n, got, got.Kind)
	}
}
