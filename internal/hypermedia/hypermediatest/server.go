// Package hypermediatest is a hypermedia server for tests: it takes blobs as the network's daemon does, checks their names and
// signatures, keeps all of a request or nothing, and answers in its words (spec/hypermedia.md §4). Queries are answered with what a real
// server of the network once answered, or with what a test says.
//
// It is test support; the product does not import it.
package hypermediatest

import (
	_ "embed" // the recorded answers
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/principal"
)

// Server is a running server.
type Server struct {
	// URL is its address.
	URL string

	mu    sync.Mutex
	blobs map[string][]byte
	order []string
	down  string
	// answers are what typed requests are answered with, newest first.
	answers []recorded
	asked   []Request
}

// recorded is an answer to requests for a key whose input holds a text.
type recorded struct {
	Key, Match string
	Status     int
	Answer     json.RawMessage
}

// recordings are answers of a real server of the network.
//
//go:embed recorded.json
var recordings []byte

// Request is a typed request that the server was asked.
type Request struct {
	Key string
	// Query is that of a GET, and Input the decoded body of a POST.
	Query url.Values
	Input map[string]any
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{blobs: map[string][]byte{}}
	if err := json.Unmarshal(recordings, &s.answers); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/PublishBlobs", s.publish)
	mux.HandleFunc("GET /ipfs/{cid}", s.read)
	mux.HandleFunc("/api/{key}", s.typed)
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// Refuse makes the server refuse everything with a text; an empty one ends that.
func (s *Server) Refuse(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = text
}

// Answer makes the server answer requests for a key whose input holds match; of several that fit, the longest match counts, and then
// the newest. An answer that a GET expects is one in the superjson form.
func (s *Server) Answer(key, match string, status int, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append([]recorded{{Key: key, Match: match, Status: status, Answer: json.RawMessage(answer)}}, s.answers...)
}

// Asked are the typed requests so far, without PublishBlobs.
func (s *Server) Asked() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.asked...)
}

func (s *Server) typed(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	in := Request{Key: r.PathValue("key"), Query: r.URL.Query()}
	text := strings.Join(slices.Sorted(maps.Keys(in.Query)), " ")
	for _, values := range in.Query {
		// The blank at the end lets a match say that a value ends there.
		text += " " + strings.Join(values, " ") + " "
	}
	if r.Method == http.MethodPost {
		if err != nil || dagcbor.Unmarshal(body, &in.Input) != nil {
			refuse(w, http.StatusBadRequest, "Required")
			return
		}
		text = fmt.Sprint(in.Input)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, in)
	var best *recorded
	for i := range s.answers {
		a := &s.answers[i]
		if a.Key == in.Key && strings.Contains(text, a.Match) && (best == nil || len(a.Match) > len(best.Match)) {
			best = a
		}
	}
	switch {
	case s.down != "":
		refuse(w, http.StatusInternalServerError, s.down)
	case best == nil:
		refuse(w, http.StatusNotFound, "unknown key")
	default:
		answer(w, best.Status, best.Answer)
	}
}

// Blobs are the signed blobs of a signer that were published, decoded, in order.
func (s *Server) Blobs(signer principal.ID) (out []map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cid := range s.order {
		fields, err := principal.VerifyBlob(s.blobs[cid])
		if by, ok := fields["signer"].([]byte); err == nil && ok && string(by) == string(signer.Bytes()) {
			out = append(out, fields)
		}
	}
	return out
}

// Len is how many blobs are stored.
func (s *Server) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.blobs)
}

// Block is what was stored under a CID; nil when there is none.
func (s *Server) Block(cid string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blobs[cid]
}

func (s *Server) publish(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var in struct {
		Blobs []struct {
			CID  string `json:"cid"`
			Data []byte `json:"data"`
		} `json:"blobs"`
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.down != "":
		refuse(w, http.StatusInternalServerError, s.down)
		return
	case err != nil || r.Header.Get("Content-Type") != "application/cbor" || dagcbor.Unmarshal(body, &in) != nil || in.Blobs == nil:
		refuse(w, http.StatusBadRequest, "Required")
		return
	}
	cids := []string{}
	for i, b := range in.Blobs {
		cid, err := dagcbor.ParseCID(b.CID)
		if err != nil {
			refuse(w, http.StatusInternalServerError, "[invalid_argument] invalid cid")
			return
		}
		if sum, err := cid.Prefix().Sum(b.Data); err != nil || !sum.Equals(cid) {
			refuse(w, http.StatusInternalServerError, fmt.Sprintf("[invalid_argument] cid at index %d doesn't match its data", i))
			return
		}
		if strings.HasPrefix(b.CID, "bafyrei") {
			if _, err := principal.VerifyBlob(b.Data); err != nil {
				refuse(w, http.StatusInternalServerError, "[internal] failed to store blocks: invalid signature")
				return
			}
		}
		cids = append(cids, b.CID)
	}
	for _, b := range in.Blobs {
		if s.blobs[b.CID] == nil {
			s.order = append(s.order, b.CID)
		}
		s.blobs[b.CID] = b.Data
	}
	answer(w, http.StatusOK, map[string]any{"json": map[string]any{"cids": cids}})
}

func (s *Server) read(w http.ResponseWriter, r *http.Request) {
	if block := s.Block(r.PathValue("cid")); block != nil {
		_, _ = w.Write(block)
		return
	}
	http.NotFound(w, r)
}

func refuse(w http.ResponseWriter, status int, text string) {
	answer(w, status, map[string]any{"error": text})
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a client that is gone reads nothing
}

// Put stores an object as if it had been published, and Lie stores bytes under a CID that is not theirs.
func (s *Server) Put(data []byte) { s.Lie(dagcbor.Sum(data).String(), data) }

// Lie is told of at Put.
func (s *Server) Lie(cid string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs[cid] = data
}
