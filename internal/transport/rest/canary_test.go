package rest_test

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// collected is a log that many write to.
type collected struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (c *collected) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(b)
}

func TestWhatProvesWhoActsIsFoundNowhere(t *testing.T) {
	t.Parallel()
	dir, logged := t.TempDir(), new(collected)
	h := servertest.Start(t, server.Config{
		DataDir: dir, Logger: slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	token := h.Token()
	api := h.REST(token).With("Idempotency-Key", "k")
	made := servertest.JSON[wire.CreateTokenResponse](t, api.Do("POST", "/api/v1/tokens", object{"name": "a", "scopes": []string{"read"}}))
	link := servertest.JSON[wire.CreateSignInLinkResponse](t, api.Do("POST", "/api/v1/sign-ins", nil))
	in := h.REST("").Do("POST", "/api/v1/sign-in", object{"code": link.Code})
	_, cookie, _ := strings.Cut(in.Cookie(), "=")
	open := servertest.Call[wire.CreateSignInLinkResponse](h, "CreateSignInLink", nil)
	asked := servertest.Post[wire.PasskeyChallenge](h.REST(""), "/sign-in/passkey/begin", nil)
	h.REST("").With("Cookie", in.Cookie()).Do("GET", "/api/v1/me", nil)
	h.REST("loam_wrong").Do("GET", "/api/v1/me", nil)
	if a := h.REST(made.Token).Do("GET", "/api/v1/me", nil); a.Status != 200 || cookie == "" {
		t.Fatalf("token %d, cookie %q", a.Status, cookie)
	}
	h.Stop()
	places := map[string][]byte{"the log": logged.text.Bytes()}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			places[d.Name()], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil || len(places) < 3 {
		t.Fatalf("%d places, %v", len(places), err)
	}
	for name, secret := range map[string]string{
		"a token": token, "a token with a key": made.Token, "a used code": link.Code, "an open code": open.Code, "a cookie": cookie,
		"a challenge's id": asked.ChallengeID,
	} {
		for place, text := range places {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s stands in %s", name, place)
			}
		}
	}
}
