// Package hypermediatest is a hypermedia server for tests: it takes blobs as the network's daemon does, checks their names and
// signatures, keeps all of a request or nothing, and answers in its words (spec/hypermedia.md §4).
//
// It is test support; the product does not import it.
package hypermediatest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{blobs: map[string][]byte{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/PublishBlobs", s.publish)
	mux.HandleFunc("GET /ipfs/{cid}", s.read)
	mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "unknown key") })
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
