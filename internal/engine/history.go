package engine

import (
	"container/list"
	"slices"
	"sync"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/wire"
)

// Bounds of what is kept of logs between turns, in bytes as history.size counts them.
const (
	maxHistories = 32 << 20
	maxHistory   = 8 << 20
	// entryOverhead is roughly what an entry takes besides its texts.
	entryOverhead = 1 << 10
)

// history is a session's log as turns replay it, decoded. Events never change, so what it holds of the log is never wrong, and
// what was appended since is read after it.
type history struct {
	session string
	// version is the agent's that worked last, which never changes either.
	version agent.Version
	// upTo is the seq up to which every event was read; entries behind it were appended by the turn that holds the history, which
	// need not know what others appended in between.
	upTo    int64
	entries []entry
	// ids of all calls in the log: a provider may use one twice.
	ids map[string]bool
	// open are the agent's calls that have no result, in the order of the log.
	open []wire.ToolCallEvent
	size int
}

func newHistory(session string) *history {
	return &history{session: session, ids: map[string]bool{}}
}

// add appends entries and notes what turns need to know of them.
func (h *history) add(entries ...entry) {
	for i := range entries {
		e := &entries[i]
		h.size += e.size + entryOverhead
		for _, m := range e.hidden.messages() {
			for _, p := range callsOf(m) {
				h.ids[p.CallID] = true
			}
		}
		switch {
		case e.kind == sessionlog.TypeToolResult:
			h.close(e.result.ToolCallID)
		case e.kind == sessionlog.TypeToolCall:
			h.ids[e.call.ID] = true
			// A person's own calls are theirs to repeat.
			if e.actor != sessionlog.ActorUser {
				h.open = append(h.open, e.call)
			}
		}
	}
	h.entries = append(h.entries, entries...)
}

func (h *history) close(call string) {
	h.open = slices.DeleteFunc(h.open, func(c wire.ToolCallEvent) bool { return c.ID == call })
}

// settle gives up the entries of which it is not known that nothing stands between them and the rest of the log.
func (h *history) settle() {
	known := len(h.entries)
	for known > 0 && h.entries[known-1].seq > h.upTo {
		known--
	}
	for known < len(h.entries) && h.entries[known].seq == h.upTo+1 {
		h.upTo++
		known++
	}
	for _, e := range h.entries[known:] {
		h.size -= e.size + entryOverhead
		if e.kind == sessionlog.TypeToolCall {
			h.close(e.call.ID)
		}
	}
	clear(h.entries[known:])
	h.entries = h.entries[:known]
}

// histories keeps those of the sessions that were worked on last. A turn takes its session's out, since at most one works on a
// session, and puts it back. It is safe for concurrent use.
type histories struct {
	mu        sync.Mutex
	bySession map[string]*list.Element
	recent    *list.List
	size      int
}

func newHistories() *histories {
	return &histories{bySession: map[string]*list.Element{}, recent: list.New()}
}

// take removes and returns what is kept of a session, which may be nothing.
func (c *histories) take(session string) *history {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.bySession[session]; ok {
		return c.remove(e)
	}
	return newHistory(session)
}

func (c *histories) remove(e *list.Element) *history {
	h := c.recent.Remove(e).(*history)
	delete(c.bySession, h.session)
	c.size -= h.size
	return h
}

// put keeps a history, and forgets those that were not used for longest when they are too much together.
func (c *histories) put(h *history) {
	h.settle()
	if h.size > maxHistory {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, twice := c.bySession[h.session]; twice {
		c.remove(e)
	}
	c.bySession[h.session] = c.recent.PushFront(h)
	c.size += h.size
	for c.size > maxHistories {
		c.remove(c.recent.Back())
	}
}
