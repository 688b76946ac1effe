// Package console serves the page: its files, and its index for every address that the page routes itself.
//
// Files under assets/ carry a hash in their names and are kept for good by browsers; everything else is asked for again each
// time. Every answer forbids what the page does not need: scripts, styles and images from elsewhere, inline scripts, frames
// around it. Texts are compressed once, when they are first asked for.
//
// console is tier 7. It imports nothing of Loam: the composition root hands it the files and puts it behind the API.
package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
)

// policy lets the page load only what this server serves. Images may also be made by the page itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

const (
	index  = "index.html"
	hashed = "assets/"
	// compressFrom is the size in bytes below which compressing saves nothing worth having.
	compressFrom = 1 << 10
)

// Handler serves a page. Its files do not change while it lives.
type Handler struct {
	files fs.FS
	mu    sync.Mutex
	known map[string]*file
}

// file is what is sent for one path.
type file struct {
	body, packed []byte
	kind, tag    string
}

// New returns the handler of the page with these files, index.html at their root.
func New(files fs.FS) *Handler { return &Handler{files: files, known: map[string]*file{}} }

// ServeHTTP answers GET and HEAD. A path that is no file is the index when the client takes HTML, and 404 otherwise.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "The page is only read: use GET.", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name == "" {
		name = index
	}
	f, err := h.load(name)
	if errors.Is(err, fs.ErrNotExist) && routed(r, name) {
		name = index
		f, err = h.load(name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.Header().Set("Cache-Control", "no-cache")
		http.Error(w, "There is no such file.", http.StatusNotFound)
	case err != nil:
		http.Error(w, "The page's files cannot be read.", http.StatusInternalServerError)
	default:
		send(w, r, name, f)
	}
}

func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// routed tells whether the page itself may know the address: a browser asks for a document there.
func routed(r *http.Request, name string) bool {
	return !strings.HasPrefix(name, hashed) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

func send(w http.ResponseWriter, r *http.Request, name string, f *file) {
	head := w.Header()
	head.Set("Content-Type", f.kind)
	head.Set("Vary", "Accept-Encoding")
	if strings.HasPrefix(name, hashed) {
		head.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		head.Set("Cache-Control", "no-cache")
		head.Set("ETag", f.tag)
		if r.Header.Get("If-None-Match") == f.tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	body := f.body
	if f.packed != nil && acceptsGzip(r.Header.Get("Accept-Encoding")) {
		head.Set("Content-Encoding", "gzip")
		body = f.packed
	}
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(body) // a client that left needs no answer
}

// acceptsGzip reads Accept-Encoding as far as browsers use it: gzip is listed and its weight is not zero.
func acceptsGzip(accept string) bool {
	for entry := range strings.SplitSeq(accept, ",") {
		coding, weight, _ := strings.Cut(strings.TrimSpace(entry), ";")
		if strings.TrimSpace(coding) == "gzip" {
			weight = strings.ReplaceAll(weight, " ", "")
			return weight != "q=0" && weight != "q=0.0" && weight != "q=0.00" && weight != "q=0.000"
		}
	}
	return false
}

// load reads a file and prepares what is sent for it, once.
func (h *Handler) load(name string) (*file, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.known[name]; f != nil {
		return f, nil
	}
	if !fs.ValidPath(name) {
		return nil, fs.ErrNotExist
	}
	if info, err := fs.Stat(h.files, name); err != nil || info.IsDir() {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	body, err := fs.ReadFile(h.files, name)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	f := &file{body: body, kind: kindOf(name), tag: `W/"` + hex.EncodeToString(sum[:12]) + `"`}
	if len(body) >= compressFrom && compressible(f.kind) {
		f.packed = pack(body)
	}
	h.known[name] = f
	return f, nil
}

// kindOf is the content type. The system's own table is not asked: it may be anything.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".json":
		return "application/json"
	case ".svg":
		return "image/svg+xml"
	}
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" {
		return kind
	}
	return "application/octet-stream"
}

func compressible(kind string) bool {
	return strings.HasPrefix(kind, "text/") || kind == "application/json" || kind == "image/svg+xml"
}

func pack(body []byte) []byte {
	var out bytes.Buffer
	// Neither a valid level nor writing to memory fails.
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
	_, _ = z.Write(body)
	_ = z.Close()
	return out.Bytes()
}
