package operation

import (
	"context"
	"sync"

	"github.com/loam-agents/loam/internal/store"
)

// flights are requests under way that do something outside before their transaction, by what makes them the same. The zero value
// has none.
type flights struct {
	mu    sync.Mutex
	under map[string]chan struct{}
}

// enter waits until no equal request is under way, and joins. leave must be called.
func (f *flights) enter(ctx context.Context, key string) (leave func(), err error) {
	for {
		f.mu.Lock()
		ended := f.under[key]
		if ended == nil {
			break
		}
		f.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer f.mu.Unlock()
	if f.under == nil {
		f.under = map[string]chan struct{}{}
	}
	ended := make(chan struct{})
	f.under[key] = ended
	return func() {
		f.mu.Lock()
		delete(f.under, key)
		f.mu.Unlock()
		close(ended)
	}, nil
}

// alone lets one of several equal requests go on, which then acts outside; the others wait and are answered like it. again says
// that the request was carried out before, and done is its answer.
func (c *Call) alone(ctx context.Context, o once) (leave func(), done Result, again bool, err error) {
	key, request, err := c.key(o)
	if err != nil {
		return nil, done, false, err
	}
	// Without an id of its own a request is only the same as its very bytes.
	same := c.Caller.Nonce
	if request != nil {
		same = key.Account + "\x00" + key.Action + "\x00" + key.ClientID
	}
	if same == "" {
		return func() {}, done, false, nil
	}
	if leave, err = c.flights.enter(ctx, same); err != nil {
		return nil, done, false, err
	}
	var body []byte
	err = c.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		body, err = c.before(tx, key, request)
		return err
	})
	if err != nil || body != nil {
		leave()
		if err == nil {
			done, err = c.repeat(ctx, body)
		}
		return nil, done, true, err
	}
	return leave, done, false, nil
}
