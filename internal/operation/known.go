package operation

import "sync"

// maxKnown bounds the accounts that are remembered.
const maxKnown = 10_000

// known remembers accounts that have a row. Rows of accounts are never removed, so it is never wrong. The zero value is empty.
type known struct {
	mu  sync.RWMutex
	ids map[string]struct{}
}

func (k *known) has(id string) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	_, ok := k.ids[id]
	return ok
}

func (k *known) add(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ids == nil || len(k.ids) >= maxKnown {
		k.ids = map[string]struct{}{}
	}
	k.ids[id] = struct{}{}
}
