package storetest

import (
	"bytes"
	"database/sql"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
)

var valueRules = []rule{
	{"text comes back as it went in", func(t *testing.T, s store.Store) {
		for _, text := range []string{"", " ", "plain", "naïve café", "日本語", "👩‍👩‍👧", "e\u0301", "\u200f\ufeff", "a\nb\r\n\tc", `"'\ ? $1 -- /* */`, `{"nul":"\u0000"}`, "\x01\x7f"} {
			var got string
			write(t, s, func(tx store.Tx) error {
				return tx.QueryRow("INSERT INTO items (id, note) VALUES ('t', ?) ON CONFLICT (id) DO UPDATE SET note = excluded.note RETURNING note", text).Scan(&got)
			})
			if got != text {
				t.Errorf("%q came back as %q", text, got)
			}
		}
	}},
	{"bytes come back as they went in, and empty is not null", func(t *testing.T, s store.Store) {
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		for _, data := range [][]byte{all, {0}, {}, nil} {
			var got []byte
			write(t, s, func(tx store.Tx) error {
				return tx.QueryRow("INSERT INTO items (id, data) VALUES ('b', ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data RETURNING data", data).Scan(&got)
			})
			if !bytes.Equal(got, data) || (got == nil) != (data == nil) {
				t.Errorf("%#v came back as %#v", data, got)
			}
		}
	}},
	{"a payload of 16 MiB comes back", func(t *testing.T, s store.Store) {
		data := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
		write(t, s, func(tx store.Tx) error {
			_, err := tx.Exec("INSERT INTO items (id, data, note) VALUES (?, ?, ?)", "big", data, string(data))
			return err
		})
		var got []byte
		var note string
		read(t, s, func(tx store.Tx) error {
			return tx.QueryRow("SELECT data, note FROM items WHERE id = ?", "big").Scan(&got, &note)
		})
		if !bytes.Equal(got, data) || note != string(data) {
			t.Errorf("%d bytes and %d of text came back", len(got), len(note))
		}
	}},
	{"text that a database cannot keep is the caller's mistake", func(t *testing.T, s store.Store) {
		for _, text := range []string{"a\x00b", "\xff", "\xed\xa0\x80"} {
			err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
				_, err := tx.Exec("INSERT INTO items (id, note) VALUES ('x', ?)", text)
				return err
			})
			if fault.CodeOf(err) != fault.ValidationFailed {
				t.Errorf("write of %q: %v", text, err)
			}
			err = s.Read(t.Context(), func(tx store.Tx) error { _, err := number(tx, text); return err })
			if fault.CodeOf(err) != fault.ValidationFailed {
				t.Errorf("read of %q: %v", text, err)
			}
		}
	}},
	{"numbers, truth and null come back", numbers},
	{"a time is not an argument", func(t *testing.T, s store.Store) {
		err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			_, err := tx.Exec("UPDATE items SET n = ?", time.Unix(0, 0))
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "epoch milliseconds") {
			t.Errorf("got %v", err)
		}
	}},
	{"now is about now and does not go back", func(t *testing.T, s store.Store) {
		var last int64
		for range 5 {
			write(t, s, func(tx store.Tx) error {
				now := tx.Now()
				if now < last {
					t.Errorf("%d after %d", now, last)
				}
				last = now
				return nil
			})
		}
		if away := time.Since(time.UnixMilli(last)).Abs(); away > time.Hour {
			t.Errorf("now is %v away", away)
		}
	}},
}

func numbers(t *testing.T, s store.Store) {
	type kind string
	big := "BIGINT"
	if s.Dialect() == store.SQLite {
		big = "INTEGER"
	}
	write(t, s, func(tx store.Tx) error { _, err := tx.Exec("ALTER TABLE items ADD COLUMN b " + big); return err })
	write(t, s, func(tx store.Tx) error {
		for id, v := range map[string]any{"max": int64(math.MaxInt64), "min": int64(math.MinInt64), "true": true, "false": false, "u8": uint8(9), "null": nil} {
			if _, err := tx.Exec("INSERT INTO items (id, b, f, note) VALUES (?, ?, ?, ?)", id, v, 0.1, kind("named")); err != nil {
				return err
			}
		}
		return nil
	})
	want := map[string]sql.NullInt64{"max": {Int64: math.MaxInt64, Valid: true}, "min": {Int64: math.MinInt64, Valid: true},
		"true": {Int64: 1, Valid: true}, "false": {Int64: 0, Valid: true}, "u8": {Int64: 9, Valid: true}, "null": {}}
	read(t, s, func(tx store.Tx) error {
		for id, w := range want {
			var b sql.NullInt64
			var f float64
			var k kind
			if err := tx.QueryRow("SELECT b, f, note FROM items WHERE id = ?", id).Scan(&b, &f, &k); err != nil {
				return err
			}
			if b != w || f != 0.1 || k != "named" {
				t.Errorf("%s: %v %v %v", id, b, f, k)
			}
		}
		var truth, sum bool
		if err := tx.QueryRow("SELECT b, b + 0 FROM items WHERE id = 'true'").Scan(&truth, &sum); err != nil || !truth || !sum {
			t.Errorf("truth: %v %v %v", truth, sum, err)
		}
		return nil
	})
}
