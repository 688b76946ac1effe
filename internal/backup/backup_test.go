package backup_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/backup"
	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
)

func blobs(t testing.TB) *blobstore.Dir {
	t.Helper()
	d, err := blobstore.OpenDir(filepath.Join(t.TempDir(), "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// memory is a database that is filled in memory.
type memory struct {
	filling store.Filling
	tables  []string
	rows    map[string][]map[string]any
}

func (m *memory) fill(f store.Filling) error {
	m.filling = f
	m.rows = map[string][]map[string]any{}
	return f.Fill(m)
}

// Load implements store.Loader.
func (m *memory) Load(table string, columns []string, rows [][]any) error {
	if len(m.tables) == 0 || m.tables[len(m.tables)-1] != table {
		m.tables = append(m.tables, table)
	}
	for _, row := range rows {
		named := map[string]any{}
		for i, c := range columns {
			named[c] = row[i]
		}
		m.rows[table] = append(m.rows[table], named)
	}
	return nil
}

// Values that are hard to carry from one database to another.
var hard = []string{"plain", "", "line\nbreak\ttab", `{"a":[1,null,"ü"]}`, "emoji 🌱", strings.Repeat("long ", 300_000)}

func TestEveryValueAndEveryRowComesBackAsItWas(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s store.Store) {
		err := s.Write(t.Context(), store.Interactive, func(tx store.Tx) error {
			for i, text := range hard {
				if _, err := tx.Exec(`INSERT INTO server_state (key, value) VALUES (?, ?)`, fmt.Sprint("k", i), text); err != nil {
					return err
				}
			}
			for i := range 1203 {
				_, err := tx.Exec(`INSERT INTO action_nonces (hash, account_id, action, response, expires_at) VALUES (?, 'a', 'n', ?, ?)`,
					fmt.Sprintf("%04d", i), []byte{0, 255, byte(i)}, int64(1)<<62+int64(i))
				if err != nil {
					return err
				}
			}
			_, err := tx.Exec(`INSERT INTO action_nonces (hash, account_id, action, response, expires_at) VALUES ('null', 'a', 'n', NULL, -5)`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		wrote, err := backup.Write(t.Context(), &out, backup.Source{Store: s, Blobs: blobs(t), Now: time.UnixMilli(1_700_000_000_123)})
		if err != nil {
			t.Fatal(err)
		}
		var m memory
		read, err := backup.Read(t.Context(), bytes.NewReader(out.Bytes()), nil, backup.Target{Database: m.fill, Blobs: blobs(t)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wrote, read); diff != "" {
			t.Errorf("summaries differ (-wrote +read):\n%s", diff)
		}
		if m.filling.Epoch != s.Epoch() || m.filling.Schema < 1 {
			t.Errorf("epoch %d of %d, schema %d", m.filling.Epoch, s.Epoch(), m.filling.Schema)
		}
		got := map[any]any{}
		for _, row := range m.rows["server_state"] {
			got[row["key"]] = row["value"]
		}
		for i, text := range hard {
			if got[fmt.Sprint("k", i)] != text {
				t.Errorf("text %d came back as %.60q", i, got[fmt.Sprint("k", i)])
			}
		}
		nonces := m.rows["action_nonces"]
		if len(nonces) != 1204 {
			t.Fatalf("%d rows came back, want 1204", len(nonces))
		}
		for _, row := range nonces {
			switch {
			case row["hash"] == "null" && (row["response"] != nil || row["expires_at"] != int64(-5)):
				t.Errorf("row with NULL: %v", row)
			case row["hash"] == "1202" && (!bytes.Equal(row["response"].([]byte), []byte{0, 255, 178}) || row["expires_at"] != int64(1)<<62+1202):
				t.Errorf("row with bytes: %v", row)
			}
		}
	})
}

func TestAPassphraseOpensWhatItSealed(t *testing.T) {
	t.Parallel()
	recipient, err := age.NewScryptRecipient("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	recipient.SetWorkFactor(10)
	var out bytes.Buffer
	sealed, err := backup.Seal(&out, recipient)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Write(t.Context(), sealed, backup.Source{Store: storetest.SQLite(t)}); err != nil {
		t.Fatal(err)
	}
	if err := sealed.Close(); err != nil {
		t.Fatal(err)
	}
	for passphrase, want := range map[string]error{"correct horse": nil, "battery staple": backup.ErrLocked} {
		identity, err := age.NewScryptIdentity(passphrase)
		if err != nil {
			t.Fatal(err)
		}
		var m memory
		_, err = backup.Read(t.Context(), bytes.NewReader(out.Bytes()), []age.Identity{identity}, backup.Target{Database: m.fill, Blobs: blobs(t)})
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", passphrase, err, want)
		}
	}
}

func TestABackupOfALaterVersionSaysWhichOne(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if _, err := backup.Write(t.Context(), &out, backup.Source{Store: storetest.SQLite(t)}); err != nil {
		t.Fatal(err)
	}
	newer := func(store.Filling) error { return store.ErrNewerSchema }
	_, err := backup.Read(t.Context(), &out, nil, backup.Target{Database: newer})
	if !errors.Is(err, store.ErrNewerSchema) || !strings.Contains(err.Error(), `made by Loam "dev"`) {
		t.Errorf("Read() = %v", err)
	}
}

// FuzzRead holds the reader to its errors: whatever the bytes are, it takes them whole or says what is wrong, and never breaks.
func FuzzRead(f *testing.F) {
	var whole bytes.Buffer
	kept := blobs(f)
	if _, err := kept.Put(f.Context(), strings.NewReader("a blob")); err != nil {
		f.Fatal(err)
	}
	if _, err := backup.Write(f.Context(), &whole, backup.Source{Store: storetest.SQLite(f), Blobs: kept, Keys: []backup.Key{{Name: backup.VaultKey, Text: []byte("k")}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes())
	f.Add([]byte(backup.Magic))
	f.Add([]byte("age-encryption.org/v1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m memory
		_, err := backup.Read(t.Context(), bytes.NewReader(b), nil, backup.Target{Database: m.fill, Blobs: kept})
		if err != nil && !errors.Is(err, backup.ErrDamaged) && !errors.Is(err, backup.ErrLocked) {
			t.Errorf("Read() = %v", err)
		}
	})
}
