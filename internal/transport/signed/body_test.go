package signed_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/transport/inbound"
	"github.com/loam-agents/loam/internal/transport/signed"
	"github.com/loam-agents/loam/wire"
)

// bodies serves actions whose bodies may take no longer than limit. None of them reaches an operation.
func bodies(t *testing.T, limit time.Duration) net.Conn {
	t.Helper()
	s := httptest.NewServer(signed.New(signed.Options{Clock: clock.System{}, IDs: id.NewSource(clock.System{}, nil), Limits: inbound.Limits{BodyTime: limit}}))
	t.Cleanup(s.Close)
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func answered(t *testing.T, r *bufio.Reader) (status int, body string, closes bool) {
	t.Helper()
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(raw), res.Close
}

const rawRequest = "POST /api/message HTTP/1.1\r\nHost: loam\r\nContent-Type: " + wire.MediaType + "\r\nContent-Length: %d\r\n\r\n%s"

func TestABodyThatDoesNotComeEndsTheConnection(t *testing.T) {
	t.Parallel()
	conn := bodies(t, 50*time.Millisecond)
	if _, err := fmt.Fprintf(conn, rawRequest, 1<<20, "only this"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	if status, body, closes := answered(t, r); status != http.StatusRequestTimeout || !strings.Contains(body, "too slowly") || !closes {
		t.Errorf("%d %q, closes %v", status, body, closes)
	}
	if _, err := r.ReadByte(); err == nil {
		t.Error("the connection stayed open")
	}
}

func TestTheTimeOfABodyIsNotThatOfTheConnection(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	conn := bodies(t, limit)
	r := bufio.NewReader(conn)
	for i := range 2 {
		if i > 0 {
			<-clock.System{}.After(limit + limit/10)
		}
		if _, err := fmt.Fprintf(conn, rawRequest, 3, "\xff\xff\xff"); err != nil {
			t.Fatal(err)
		}
		if status, _, closes := answered(t, r); status != http.StatusBadRequest || closes {
			t.Errorf("request %d: %d, closes %v", i+1, status, closes)
		}
	}
}
