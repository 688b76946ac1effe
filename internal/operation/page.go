package operation

import (
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// page reads which part of a list is asked for.
func (c *Call) page() (p store.Page, err error) {
	var req wire.PageRequest
	if err := c.bind(&req); err != nil {
		return p, err
	}
	if p.Limit, err = pageLimit(req.Limit); err != nil || req.Cursor == nil {
		return p, err
	}
	p.After = &store.Place{}
	return p, parseCursor(*req.Cursor, p.After)
}

// pageLimit is how many rows a page has.
func pageLimit(asked *int64) (int64, error) {
	if asked == nil {
		return defaultPage, nil
	}
	if *asked < 1 {
		return 0, fault.Invalid("limit must be a positive integer").With("field", "limit")
	}
	return min(*asked, maxPage), nil
}

// next is the cursor of the page after one; empty when it is the last.
func next[T any](page []T, more bool, place func(last *T) store.Place) (string, error) {
	if !more {
		return "", nil
	}
	return cursorText(place(&page[len(page)-1]))
}
