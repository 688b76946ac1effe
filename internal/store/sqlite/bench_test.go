package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/sqlite"
)

func benchStore(b *testing.B, statements int) store.Store {
	b.Helper()
	s, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(b.TempDir(), "loam.db"), Migrations: pairSchema(), StatementCache: statements})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

var body = strings.Repeat("event payload ", 20)

// BenchmarkProbe is what the disk needs for one durable append of a page: writes are judged by their ratio to it.
func BenchmarkProbe(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "probe"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, 4096)
	for b.Loop() {
		if _, err := f.Write(page); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

func insertBody(b *testing.B, s store.Store, id string) {
	err := s.Write(b.Context(), store.Interactive, func(tx store.Tx) error {
		_, err := tx.Exec("INSERT INTO pairs (id, half, body) VALUES (?, 0, ?)", id, body)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkWrite is the latency of one write alone and the time each when many callers share commits.
func BenchmarkWrite(b *testing.B) {
	var n atomic.Int64
	b.Run("alone", func(b *testing.B) {
		s := benchStore(b, 0)
		for b.Loop() {
			insertBody(b, s, fmt.Sprint(n.Add(1)))
		}
	})
	for _, callers := range []int{8, 64} {
		b.Run(fmt.Sprintf("%d callers", callers), func(b *testing.B) {
			s := benchStore(b, 0)
			b.SetParallelism(callers)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					insertBody(b, s, fmt.Sprint(n.Add(1)))
				}
			})
			stats := s.Stats()
			b.ReportMetric(float64(stats.Writes)/float64(stats.Commits), "writes/commit")
		})
	}
}

// BenchmarkStatements is the gain of keeping prepared statements: a hundred inserts, and one read, with and without.
func BenchmarkStatements(b *testing.B) {
	for name, statements := range map[string]int{"kept": 0, "prepared each time": -1} {
		b.Run("100 inserts "+name, func(b *testing.B) {
			s := benchStore(b, statements)
			n := 0
			for b.Loop() {
				err := s.Write(b.Context(), store.Interactive, func(tx store.Tx) error {
					for range 100 {
						n++
						if _, err := tx.Exec("INSERT INTO pairs (id, half, body) VALUES (?, 0, ?)", fmt.Sprint(n), body); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("read "+name, func(b *testing.B) {
			s := benchStore(b, statements)
			insertBody(b, s, "a")
			for b.Loop() {
				err := s.Read(b.Context(), func(tx store.Tx) error {
					var got string
					return tx.QueryRow("SELECT body FROM pairs WHERE id = ? AND half = 0", "a").Scan(&got)
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
