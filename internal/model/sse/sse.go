// Package sse reads the two streaming formats that model providers use: server-sent events and newline-delimited JSON.
//
// It promises bounded memory (no line and no event grows beyond the limit given), tolerance of what real servers send
// (LF, CRLF or CR line ends, comments, a byte order mark, a last event without its blank line), and that a broken
// connection is an error rather than a quiet end. It knows nothing of the payloads.
//
// sse is part of tier 3. The adapters under internal/model call it; it calls nothing of Loam.
package sse

import (
	"bytes"
	"errors"
	"io"
	"iter"
)

// DefaultMax bounds an event or a line when the caller gives no limit: 8 MiB, room for an inline image.
const DefaultMax = 8 << 20

// ErrTooLong says that a line or an event is larger than the limit.
var ErrTooLong = errors.New("sse: event is larger than the limit")

// Event is one server-sent event.
type Event struct {
	// Name is the value of the event field; empty when the stream names none.
	Name string
	// Data joins the data fields with newlines. It belongs to the caller.
	Data []byte
	// ID is the value of the event's own id field; empty when it has none.
	ID string
}

// Events yields the events of r that carry data. It ends at EOF, dispatching an event whose blank line is missing, or
// after yielding one error: ErrTooLong when an event holds more than maxEvent bytes (DefaultMax when maxEvent <= 0), or
// whatever reading failed with. It does not close r.
func Events(r io.Reader, maxEvent int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := newLineReader(r, maxEvent)
		var pending builder
		for {
			line, err := lines.next()
			if err != nil {
				finish(pending, err, yield)
				return
			}
			if len(line) > 0 {
				if !pending.field(line, lines.max) {
					yield(Event{}, ErrTooLong)
					return
				}
				continue
			}
			if ev, ok := pending.take(); ok && !yield(ev, nil) {
				return
			}
		}
	}
}

// Lines yields the non-empty lines of r without their ends, each owned by the caller. Errors and limits are those of
// Events, applied to a line.
func Lines(r io.Reader, maxLine int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := newLineReader(r, maxLine)
		for {
			line, err := lines.next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(nil, err)
				}
				return
			}
			if line = bytes.TrimSpace(line); len(line) > 0 && !yield(bytes.Clone(line), nil) {
				return
			}
		}
	}
}

// finish ends an event stream: what was complete but for its blank line still counts when the stream ended cleanly.
func finish(pending builder, err error, yield func(Event, error) bool) {
	if !errors.Is(err, io.EOF) {
		yield(Event{}, err)
		return
	}
	if ev, ok := pending.take(); ok {
		yield(ev, nil)
	}
}

// builder collects the fields of one event.
type builder struct {
	name, id string
	data     []byte
	hasData  bool
}

// field adds one line; it reports false when the event outgrew limit.
func (b *builder) field(line []byte, limit int) bool {
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "data":
		if b.hasData {
			b.data = append(b.data, '\n')
		}
		if len(b.data)+len(value) > limit {
			return false
		}
		b.data, b.hasData = append(b.data, value...), true
	case "event":
		b.name = string(value)
	case "id":
		b.id = string(value)
	}
	return true
}

// take returns the collected event when it has data, and starts the next one.
func (b *builder) take() (Event, bool) {
	ev := Event{Name: b.name, Data: b.data, ID: b.id}
	ok := b.hasData
	*b = builder{}
	return ev, ok
}
