package script

import "encoding/json"

// record is a journal in memory: what was written, and which of it the program has asked for again.
type record struct {
	// waiting are the first entries of groups that the program has not asked for in this execution, by key, oldest first.
	waiting map[string][]*Entry
	// results are what ended groups: results, fired timers, events.
	results map[int64]*Entry
	// order are the groups that have ended, in the order in which they did, as far as they are not settled.
	order []int64
	// own are the groups that this execution has begun.
	own     map[int64]bool
	last    int64
	entries int
	bytes   int
}

func newRecord() *record {
	return &record{waiting: map[string][]*Entry{}, results: map[int64]*Entry{}, own: map[int64]bool{}}
}

// add takes entries as they stand in the journal.
func (r *record) add(entries ...Entry) {
	for i := range entries {
		e := &entries[i]
		r.entries++
		r.bytes += size(e)
		r.last = max(r.last, e.CallSeq)
		switch e.Kind {
		case KindResult, KindFired, KindEvent:
			if r.results[e.CallSeq] == nil {
				r.results[e.CallSeq] = e
				r.order = append(r.order, e.CallSeq)
			}
		default:
			if !r.own[e.CallSeq] {
				r.waiting[e.Key] = append(r.waiting[e.Key], e)
			}
		}
	}
}

// find takes the oldest group of a key that was not asked for yet.
func (r *record) find(key string) *Entry {
	list := r.waiting[key]
	if len(list) == 0 {
		return nil
	}
	if len(list) == 1 {
		delete(r.waiting, key)
	} else {
		r.waiting[key] = list[1:]
	}
	return list[0]
}

// size is what an entry takes in a journal.
func size(e *Entry) int {
	b, err := json.Marshal(e)
	if err != nil {
		return 0
	}
	return len(b)
}
