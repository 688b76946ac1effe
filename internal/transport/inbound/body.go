// Package inbound reads the bodies of requests within limits of size and time.
//
// It is part of transport (tier 7) and imports fault. The transports that take bodies call it.
package inbound

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/loam-agents/loam/internal/fault"
)

// Limits of a request's body.
const (
	// DefaultMaxBody bounds it in bytes (design §10.10).
	DefaultMaxBody = 32 << 20
	// DefaultBodyTime is how long it may take besides a second for every minBodyRate bytes that have arrived.
	DefaultBodyTime = 30 * time.Second
	minBodyRate     = 32 << 10
)

// Limits bound a body; zero values are the defaults.
type Limits struct {
	// MaxBody is in bytes.
	MaxBody int64
	// BodyTime bounds the wait for a body that does not come.
	BodyTime time.Duration
	// Budget bounds all bodies together; nil does not.
	Budget *Budget
}

// Complete fills in defaults.
func (l Limits) Complete() Limits {
	if l.MaxBody <= 0 {
		l.MaxBody = DefaultMaxBody
	}
	if l.BodyTime <= 0 {
		l.BodyTime = DefaultBodyTime
	}
	return l
}

// Read reads a body whole. Errors are fault.TooLarge, fault.Unavailable when all bodies together are too much, and
// fault.ValidationFailed for one that is too slow (status 408) or breaks off.
func (l Limits) Read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > l.MaxBody {
		return nil, l.tooLarge()
	}
	body := paced{body: r.Body, conn: http.NewResponseController(w), end: time.Now().Add(l.BodyTime)}
	raw, err := io.ReadAll(io.LimitReader(l.Budget.counted(r, &body), l.MaxBody+1))
	switch {
	case fault.CodeOf(err) == fault.Unavailable:
		return nil, err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &fault.Error{Code: fault.ValidationFailed, HTTPStatus: http.StatusRequestTimeout, Message: "The request arrived too slowly"}
	case err != nil:
		return nil, fault.Invalid("The request could not be read to its end")
	case int64(len(raw)) > l.MaxBody:
		return nil, l.tooLarge()
	}
	// The wait for the answer has no deadline; it ends when the client goes away.
	_ = body.conn.SetReadDeadline(time.Time{})
	return raw, nil
}

func (l Limits) tooLarge() error {
	return fault.New(fault.TooLarge, "Request is too large: at most %d bytes", l.MaxBody).With("limit", l.MaxBody)
}

// paced is a body that has to keep coming, so that nobody holds a connection and its memory by sending a byte now and then.
type paced struct {
	body io.Reader
	conn *http.ResponseController
	end  time.Time
}

// Read implements io.Reader.
func (p *paced) Read(b []byte) (int, error) {
	// A connection without deadlines is one of a test.
	_ = p.conn.SetReadDeadline(p.end)
	n, err := p.body.Read(b)
	p.end = p.end.Add(time.Duration(n) * time.Second / minBodyRate)
	return n, err
}
