package memory_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/loam-agents/loam/internal/memory"
)

type mapBlobs struct {
	mu    sync.Mutex
	bytes map[string][]byte
}

func newBlobs(testing.TB) memory.Blobs { return &mapBlobs{bytes: map[string][]byte{}} }

func (m *mapBlobs) Put(_ context.Context, r io.Reader) (string, int64, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return "", 0, err
	}
	sum := sha256.Sum256(raw)
	hash := hex.EncodeToString(sum[:])
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes[hash] = raw
	return hash, int64(len(raw)), nil
}

func (m *mapBlobs) ReadAll(_ context.Context, hash string, limit int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	raw, ok := m.bytes[hash]
	if !ok || int64(len(raw)) > limit {
		return nil, fmt.Errorf("blob %s: missing or larger than %d", hash, limit)
	}
	return raw, nil
}
