package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/operation"
)

// The media types of answers.
const (
	mediaJSON    = "application/json"
	mediaProblem = "application/problem+json"
	mediaBytes   = "application/octet-stream"
	mediaEvents  = "text/event-stream"
)

// Problem is the body of every error (RFC 9457).
type Problem struct {
	// Type is about:blank: Code says what went wrong.
	Type string `json:"type"`
	// Title is the text of the status.
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail is a sentence for a person.
	Detail string `json:"detail"`
	// Code is the class of the error, for programs.
	Code string `json:"code"`
	// Details name the field, the limit or whatever else the error is about.
	Details map[string]any `json:"details,omitempty"`
}

// retryAfter is said when nobody knows better.
const retryAfter = time.Second

// fail answers with an error. What went wrong inside is logged, not told.
func (s *Server) fail(ctx context.Context, w http.ResponseWriter, err error) {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		// Nobody is there to read it.
		return
	}
	f := fault.From(err)
	switch {
	case f.Code == fault.Internal:
		s.opts.Logger.ErrorContext(ctx, "request failed", "error", err)
	case f.Err != nil:
		s.opts.Logger.DebugContext(ctx, "request refused", "error", err, "cause", f.Err)
	}
	status := f.Status()
	switch status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		wait := max(f.RetryAfter, retryAfter)
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
	body, err := encode(Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: f.Message, Code: string(f.Code), Details: f.Details,
	})
	if err != nil {
		s.opts.Logger.ErrorContext(ctx, "encode a problem", "error", err)
	}
	write(w, status, mediaProblem, body)
}

// answer sends a value as JSON.
func answer(w http.ResponseWriter, status int, value any) error {
	body, err := encode(value)
	if err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	write(w, status, mediaJSON, body)
	return nil
}

func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return out.Bytes(), err
}

// download sends a file such that no browser shows it as a page of this origin.
func download(w http.ResponseWriter, file operation.File) error {
	media := file.MimeType
	if _, _, err := mime.ParseMediaType(media); err != nil {
		media = mediaBytes
	}
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": file.Name}))
	write(w, http.StatusOK, media, file.Data)
	return nil
}

func write(w http.ResponseWriter, status int, media string, body []byte) {
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	// A client that has gone away does not read it.
	_, _ = w.Write(body)
}
