package live

import (
	"context"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/wire"
)

// journals sends the entries of all journals of a tree behind a seq, the oldest runs first.
func (f *Feed) journals(ctx context.Context, root string, after int64) error {
	last, err := f.ops.Journals(ctx, root)
	if err != nil {
		return err
	}
	topic := wire.KeyRun + root
	f.written[topic] = map[string]int64{}
	for id, n := range last {
		f.written[topic][id] = min(after, n)
	}
	return f.missing(ctx, topic, last)
}

// compareJournals sends the entries that nobody announced here. A database that cannot be asked now is asked the next time.
func (f *Feed) compareJournals(ctx context.Context) error {
	for topic := range f.written {
		last, err := f.ops.Journals(ctx, strings.TrimPrefix(topic, wire.KeyRun))
		if err != nil {
			return nil
		}
		if err := f.missing(ctx, topic, last); err != nil {
			return err
		}
	}
	return nil
}

// missing sends what journals have beyond what was sent, the oldest runs first.
func (f *Feed) missing(ctx context.Context, topic string, last map[string]int64) error {
	ids := make([]string, 0, len(last))
	for id, n := range last {
		if n > f.written[topic][id] {
			ids = append(ids, id)
		}
	}
	// The ids of runs are in the order in which they were made.
	slices.Sort(ids)
	for _, id := range ids {
		if err := f.entries(ctx, topic, id, f.written[topic][id]); err != nil {
			return err
		}
	}
	return nil
}

// entries sends a journal behind a seq.
func (f *Feed) entries(ctx context.Context, topic, run string, after int64) error {
	for {
		page, err := f.ops.EntriesAfter(ctx, run, after, pageSize)
		if err != nil {
			return err
		}
		for i := range page {
			e := &page[i]
			frame := wire.Frame{Kind: wire.FrameAppend, Key: topic, RunID: run, Seq: e.Seq, Entry: e.Entry, CreatedAt: e.CreatedAt}
			if err := f.sink.Frame(ctx, &frame); err != nil {
				return err
			}
			after = e.Seq
		}
		f.written[topic][run] = after
		if len(page) < pageSize {
			return nil
		}
	}
}

// entry sends an entry that was published, unless it was sent, and what is missing before it.
func (f *Feed) entry(ctx context.Context, m *bus.Message) error {
	run, seq := m.Frame.RunID, m.Frame.Seq
	written, ok := f.written[m.Topic]
	switch {
	case !ok || !strings.HasPrefix(m.Topic, wire.KeyRun), seq <= written[run]:
		// Its replay is still to come, or has sent it.
		return nil
	case seq > written[run]+1:
		return f.entries(ctx, m.Topic, run, written[run])
	}
	written[run] = seq
	return f.sink.Message(ctx, m)
}
