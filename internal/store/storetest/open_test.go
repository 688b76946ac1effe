package storetest_test

import (
	"testing"

	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
)

func TestEachStoreIsFreshAndMigrated(t *testing.T) {
	t.Parallel()
	for range 2 {
		storetest.Each(t, func(t *testing.T, s store.Store) {
			var n int
			err := s.Read(t.Context(), func(tx store.Tx) error { return tx.QueryRow("SELECT COUNT(*) FROM accounts").Scan(&n) })
			if err != nil || n != 0 {
				t.Fatalf("%d accounts, %v", n, err)
			}
			err = s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
				_, err := tx.Exec("INSERT INTO accounts (id, created_at, updated_at) VALUES (?, ?, ?)", "a", tx.Now(), tx.Now())
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
