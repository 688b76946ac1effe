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
	open []openCall
	size int
}

func newHistory(session string) *history {
	return &history{session: session, ids: map[string]bool{}}
}

// openCall is a call of the agent that has no result.
type openCall struct {
	wire.ToolCallEvent
	// run is the one that made it.
	run string
}

// follow is what is open after further entries.
func follow(open []openCall, entries []entry) []openCall {
	open = slices.Clone(open)
	for i := range entries {
		switch e := &entries[i]; {
		case e.kind == sessionlog.TypeToolResult:
			open = closed(open, e.result.ToolCallID)
		case e.kind == sessionlog.TypeToolCall && e.actor != sessionlog.ActorUser:
			// A person's own calls are theirs to repeat.
			open = append(open, openCall{e.call, e.run})
		}
	}
	return open
}

func closed(open []openCall, call string) []openCall {
	return slices.DeleteFunc(open, func(c openCall) bool { return c.ID == call })
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
		if e.kind == sessionlog.TypeToolCall {
			h.ids[e.call.ID] = true
		}
	}
	h.open = follow(h.open, entries)
	h.entries = append(h.entries, entries...)
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
			h.open = closed(h.open, e.call.ID)
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
