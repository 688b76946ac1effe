package hypermedia_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/hypermedia"
	"github.com/loam-agents/loam/internal/hypermedia/hypermediatest"
)

func TestAServerKeepsWhatIsPublished(t *testing.T) {
	t.Parallel()
	_, k := load(t)
	s := hypermediatest.New(t)
	home, err := hypermedia.Home(k, "Scribe", "abcdefgh", "I write.", 1_800_000_000_000)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := hypermedia.File(make([]byte, 600_000))
	if err != nil {
		t.Fatal(err)
	}
	c := hypermediatest.Client(t, s.URL)
	if err := c.Publish(t.Context(), append(home, picture...)...); err != nil || c.URL() != s.URL {
		t.Fatal(err)
	}
	if got := s.Blobs(k.ID()); len(got) != 3 || got[0]["type"] != "Change" || got[2]["type"] != "Ref" {
		t.Errorf("the server has %v", got)
	}
	if s.Block(picture[0].CID.String()) == nil {
		t.Error("the server does not have the picture")
	}
	// One blob that is wrong keeps all of them out.
	before := s.Len()
	genesis, other := home[0], home[1]
	other.Data = append(other.Data[:len(other.Data):len(other.Data)], 0)
	profile, err := hypermedia.Profile(k, "X", "", 7)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Publish(t.Context(), profile, genesis, other)
	if err == nil || err.Error() != "HTTP 500 from PublishBlobs: [invalid_argument] cid at index 2 doesn't match its data" || s.Len() != before {
		t.Errorf("bytes of another name: %v, %d blobs", err, s.Len())
	}
}

func TestAnErrorSaysWhatIsWrongAndNoAddress(t *testing.T) {
	t.Parallel()
	_, k := load(t)
	profile, err := hypermedia.Profile(k, "X", "", 7)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		status       int
		answer, want string
	}{
		"no JSON":     {200, "<html>", "the answer to PublishBlobs is invalid"},
		"no list":     {200, `{"json":{}}`, "the server named 0 of 1 blobs"},
		"no answer":   {200, `{}`, "the answer to PublishBlobs is invalid"},
		"a proxy":     {502, "Bad gateway\n", "HTTP 502 from PublishBlobs: Bad Gateway"},
		"two lines":   {500, `{"error":"[unavailable] reindexing\nretry later"}`, "HTTP 500 from PublishBlobs: [unavailable] reindexing retry later"},
		"a long text": {500, `{"error":"` + strings.Repeat("x", 1000) + `"}`, "HTTP 500 from PublishBlobs: " + strings.Repeat("x", 300) + "…"},
		"a redirect":  {302, "", "was refused"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.status == 302 {
				w.Header().Set("Location", "http://127.0.0.2:1/secret")
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.answer))
		}))
		t.Cleanup(s.Close)
		err := hypermediatest.Client(t, s.URL).Publish(t.Context(), profile)
		if c.status == 302 && err != nil && !strings.Contains(err.Error(), "/secret") {
			continue
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if err := hypermediatest.Client(t, hypermediatest.Away).Publish(t.Context(), profile); err == nil || strings.Contains(err.Error(), "api/PublishBlobs") {
		t.Errorf("nobody there: %v", err)
	}
}
