package live

import (
	"context"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/operation"
)

// guarded is a subscription of somebody whom others let in.
type guarded struct {
	// joined is the topic that its user knows, now what was decided last: with another role it goes on on another topic.
	joined string
	now    operation.Subscription
}

// guard watches over a subscription that was joined. What was decided before the guard was there is decided once more.
func (f *Feed) guard(ctx context.Context, s operation.Subscription) error {
	f.sub.Join(s.Guard)
	f.guarded[s.Key] = guarded{s.Topic, s}
	now, err := f.ops.Again(ctx, s)
	if err == nil {
		err = f.move(ctx, s.Key, now)
	}
	return err
}

// move goes on with a subscription on the topic that it has now. What was published on the other one meanwhile is sent, since the
// caller may see it; the client is told the state in its new form.
func (f *Feed) move(ctx context.Context, key string, now operation.Subscription) error {
	g := f.guarded[key]
	if now.Topic == g.now.Topic {
		return nil
	}
	f.sub.Join(now.Topic)
	delete(f.left, now.Topic)
	f.sub.Leave(g.now.Topic)
	f.guarded[key] = guarded{g.joined, now}
	state, err := f.ops.AgentState(ctx, now)
	if err != nil {
		// The next recheck decides what that means.
		return nil
	}
	return f.sink.Frame(ctx, &state)
}

// recheck decides anew on the subscriptions behind a guard, or behind all when it is empty. Those that the caller may still have go
// on. A database that cannot be asked now is asked again the next time.
func (f *Feed) recheck(ctx context.Context, guard string) error {
	for key, g := range f.guarded {
		if guard != "" && g.now.Guard != guard {
			continue
		}
		now, err := f.ops.Again(ctx, g.now)
		switch code := fault.CodeOf(err); {
		case err == nil:
			if err := f.move(ctx, key, now); err != nil {
				return err
			}
		case code == fault.NotFound || code == fault.PermissionDenied:
			f.Leave(g.joined)
			if err := f.sink.Ended(ctx, key); err != nil {
				return err
			}
		}
	}
	return nil
}
