package postgres_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loam-agents/loam/internal/pgtest"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/postgres"
)

// BenchmarkWrite measures writes on a server that flushes, beside the fsync that each commit needs there.
func BenchmarkWrite(b *testing.B) {
	server, err := pgtest.Start(pgtest.Options{Fsync: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := server.Stop(); err != nil {
			b.Error(err)
		}
	})
	s, err := postgres.Open(b.Context(), postgres.Options{URL: server.URL()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	b.Run("probe fsync", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "probe"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		page := []byte(strings.Repeat("x", 4096))
		for b.Loop() {
			if _, err := f.Write(page); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
	})
	var n atomic.Int64
	insert := func(b *testing.B, lock bool) {
		err := s.Write(b.Context(), store.Interactive, func(tx store.Tx) error {
			id := fmt.Sprint(n.Add(1))
			if lock {
				if err := tx.Lock(id); err != nil {
					return err
				}
			}
			_, err := tx.Exec("INSERT INTO accounts (id, created_at, updated_at) VALUES (?, 1, 1)", id)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for name, lock := range map[string]bool{"alone": false, "alone with a lock": true} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				insert(b, lock)
			}
		})
	}
	b.Run("32 callers with locks", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				insert(b, true)
			}
		})
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			err := s.Read(b.Context(), func(tx store.Tx) error {
				var at int64
				return tx.QueryRow("SELECT created_at FROM accounts WHERE id = ?", "1").Scan(&at)
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
