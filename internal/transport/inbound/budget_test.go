package inbound_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/transport/inbound"
)

// door reads bodies with a budget and holds every request that was read whole until the test lets it go.
type door struct {
	url    string
	budget *inbound.Budget
	whole  chan struct{}
	leave  chan struct{}
}

func open(t *testing.T, limit int64) *door {
	t.Helper()
	d := &door{budget: inbound.NewBudget(limit), whole: make(chan struct{}), leave: make(chan struct{})}
	limits := inbound.Limits{Budget: d.budget}.Complete()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := limits.Read(w, r); err != nil {
			f, _ := errors.AsType[*fault.Error](err)
			http.Error(w, f.Message, f.Status())
			return
		}
		d.whole <- struct{}{}
		<-d.leave
	}))
	t.Cleanup(s.Close)
	d.url = s.URL
	return d
}

func (d *door) post(t *testing.T, size int) (status <-chan int) {
	t.Helper()
	out := make(chan int, 1)
	go func() {
		res, err := http.Post(d.url, "text/plain", strings.NewReader(strings.Repeat("x", size)))
		if err != nil {
			out <- 0
			return
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		out <- res.StatusCode
	}()
	return out
}

func TestBodiesInWorkShareABudget(t *testing.T) {
	t.Parallel()
	const free = 64 << 10
	d := open(t, 1000)
	small := d.post(t, free)
	<-d.whole
	if used := d.budget.Used(); used != 0 {
		t.Errorf("an ordinary body takes %d", used)
	}
	full := d.post(t, free+1000)
	<-d.whole
	if used := d.budget.Used(); used != 1000 {
		t.Errorf("a body at the limit takes %d", used)
	}
	if status := <-d.post(t, free+1); status != http.StatusServiceUnavailable {
		t.Errorf("a body over the limit is answered with %d", status)
	}
	d.leave <- struct{}{}
	d.leave <- struct{}{}
	if a, b := <-small, <-full; a != http.StatusOK || b != http.StatusOK {
		t.Errorf("the others are answered with %d and %d", a, b)
	}
	// What was taken comes back when the request is over, which its client may learn first.
	for d.budget.Used() != 0 {
		runtime.Gosched()
	}
	again := d.post(t, free+1000)
	<-d.whole
	d.leave <- struct{}{}
	if status := <-again; status != http.StatusOK {
		t.Errorf("a budget that came back answers with %d", status)
	}
}
