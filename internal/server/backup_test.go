package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"filippo.io/age"

	"github.com/loam-agents/loam/internal/backup"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/pgtest"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/postgres"
	"github.com/loam-agents/loam/internal/store/sqlite"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/vault"
	"github.com/loam-agents/loam/wire"
)

const canary = "sk-canary-2718281828"

// lived is a server on which something has happened, and what a restored one has to know.
type lived struct {
	*servertest.Harness
	session, agent, attachment string
	identity                   *age.X25519Identity
}

func live(t *testing.T, cfg server.Config) *lived {
	t.Helper()
	cfg.DataDir = filepath.Join(t.TempDir(), "data")
	l := &lived{Harness: servertest.Start(t, cfg)}
	m := servertest.Scripted(t,
		scripted.Turn{Steps: []scripted.Step{{Call: &scripted.Call{ID: "c1", Name: "write", Arguments: `{"address":"~/memory/tea.md","content":"green and hot"}`}}}},
		scripted.Turn{Steps: []scripted.Step{{Text: "Noted."}}},
	)
	l.agent = l.Agent(m)
	l.session = l.Session(l.agent)
	if _, err := l.Send(l.session, "I like green tea"); err != nil {
		t.Fatal(err)
	}
	servertest.Call[wire.SecretResponse](l.Harness, "SetSecret", map[string]any{"name": "house-api-key", "value": []byte(canary)})
	l.attachment = servertest.Call[wire.AttachmentResponse](l.Harness, "UploadSessionAttachment", map[string]any{
		"sessionId": l.session, "name": "noise.bin", "content": bytes.Repeat([]byte{0, 1, 2, 3}, 800<<10),
	}).Attachment.ID
	var err error
	if l.identity, err = age.GenerateX25519Identity(); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lived) backup(t *testing.T, withKey bool) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := server.Backup(t.Context(), l.Config, &out, []age.Recipient{l.identity.Recipient()}, withKey); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func databases(t *testing.T) map[string]func() server.Config {
	return map[string]func() server.Config{
		"sqlite":   func() server.Config { return server.Config{} },
		"postgres": func() server.Config { return server.Config{DatabaseURL: storetest.PostgresURL(t)} },
	}
}

func TestABackupOfARunningServerCanBeRestoredIntoEitherDatabase(t *testing.T) {
	t.Parallel()
	for from, source := range databases(t) {
		for to, target := range databases(t) {
			t.Run(from+" to "+to, func(t *testing.T) {
				t.Parallel()
				l := live(t, source())
				made := l.backup(t, true)
				for _, secret := range []string{canary, "green and hot", "I like green tea", l.agent} {
					if bytes.Contains(made, []byte(secret)) {
						t.Errorf("the backup shows %q", secret)
					}
				}
				cfg := target()
				if cfg.DatabaseURL != "" {
					cfg.DatabaseURL = storetest.EmptyPostgresURL(t, pgtest.Shared(t))
				}
				cfg.DataDir = filepath.Join(t.TempDir(), "new")
				out, err := server.Restore(t.Context(), cfg, bytes.NewReader(made), []age.Identity{l.identity})
				if err != nil {
					t.Fatal(err)
				}
				if out.Database != from || out.Rows == 0 || out.Blobs != 2 || !slices.Equal(out.Keys, []string{backup.VaultKey, backup.OwnerKey}) || len(out.Missing) != 0 {
					t.Errorf("restored %+v", out)
				}
				before := l.Events(l.session)
				l.Stop()
				l.check(t, servertest.Start(t, cfg), before)
			})
		}
	}
}

// check compares a restored server with the one that was backed up.
func (l *lived) check(t *testing.T, again *servertest.Harness, before []servertest.Event) {
	t.Helper()
	if again.Key.ID() != l.Key.ID() {
		t.Error("the restored server has another owner")
	}
	after := again.Events(l.session)
	same := func(a, b servertest.Event) bool {
		return a.Seq == b.Seq && a.ID == b.ID && a.Content == b.Content && string(a.Output) == string(b.Output) && a.Input == b.Input
	}
	if len(after) != 4 || !slices.EqualFunc(before, after, same) {
		t.Errorf("the log is %+v\nwant %+v", after, before)
	}
	file := servertest.Call[wire.ReadAgentMemoryFileResponse](again, "ReadAgentMemoryFile", map[string]any{"agentId": l.agent, "path": "tea.md"})
	if c := file.File.Content; c == nil || *c != "green and hot" {
		t.Errorf("the memory is %+v", file)
	}
	servertest.Call[wire.SecretResponse](again, "SetSecret", map[string]any{"name": "another", "value": []byte("sk-new")})
	session := again.Session(l.agent)
	if session == l.session {
		t.Error("ids begin anew")
	}
}

func TestABackupBetweenWritesIsOneStateOfTheDatabase(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		l := live(t, cfg)
		assistant := servertest.Call[wire.ListAgentsResponse](l.Harness, "ListAgents", nil).Agents
		tutor := assistant[slices.IndexFunc(assistant, func(a wire.AgentInfo) bool { return a.Definition.ModelProvider == "tutor" })].ID
		done, stop := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				session := l.Session(tutor)
				for range 3 {
					select {
					case <-stop:
						return
					default:
						if _, err := l.Send(session, "hello"); err != nil {
							t.Errorf("a message during the backup: %v", err)
							return
						}
					}
				}
			}
		}()
		for range 3 {
			made := l.backup(t, true)
			back := server.Config{DataDir: filepath.Join(t.TempDir(), "new")}
			if _, err := server.Restore(t.Context(), back, bytes.NewReader(made), []age.Identity{l.identity}); err != nil {
				t.Fatal(err)
			}
			s, err := sqlite.OpenReader(t.Context(), sqlite.Options{Path: filepath.Join(back.DataDir, "loam.db")})
			if err != nil {
				t.Fatal(err)
			}
			var torn int64
			err = s.Read(t.Context(), func(tx store.Tx) error {
				return tx.QueryRow(`SELECT COUNT(*) FROM sessions s WHERE last_seq <> (SELECT COUNT(*) FROM session_events e WHERE e.session_id = s.id)
					OR EXISTS (SELECT 1 FROM session_events e WHERE e.session_id = s.id AND e.run_id IS NOT NULL
						AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = e.run_id))`).Scan(&torn)
			})
			if err = errors.Join(err, s.Close()); err != nil || torn > 0 {
				t.Errorf("%d sessions do not fit their events, %v", torn, err)
			}
		}
		close(stop)
		<-done
	})
}

func TestWithoutTheKeyABackupHoldsNoKeyAndItsSecretsStayShut(t *testing.T) {
	t.Parallel()
	l := live(t, server.Config{})
	made := l.backup(t, false)
	l.Stop()
	cfg := server.Config{DataDir: filepath.Join(t.TempDir(), "new"), Listen: "127.0.0.1:0"}
	out, err := server.Restore(t.Context(), cfg, bytes.NewReader(made), []age.Identity{l.identity})
	if err != nil || len(out.Keys) != 0 {
		t.Fatalf("restored %+v, %v", out, err)
	}
	err = filepath.WalkDir(cfg.DataDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(canary)) || bytes.Contains(text, []byte(base64.StdEncoding.EncodeToString([]byte(canary)))) {
			t.Errorf("%s shows the secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := server.Open(t.Context(), cfg); !errors.Is(err, vault.ErrNoKey) {
		t.Fatalf("a start without the key: %v, %v", s, err)
	}
	copyFile(t, filepath.Join(l.Config.DataDir, "vault.key"), filepath.Join(cfg.DataDir, "vault.key"))
	s, err := server.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestABackupThatIsNotWholeLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	l := live(t, server.Config{})
	made := l.backup(t, true)
	l.Stop()
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	flip := func(at int) []byte {
		b := bytes.Clone(made)
		b[at] ^= 1
		return b
	}
	mine := []age.Identity{l.identity}
	cases := map[string]struct {
		from       []byte
		identities []age.Identity
		want       error
	}{
		"no identity":            {made, nil, backup.ErrLocked},
		"another identity":       {made, []age.Identity{other}, backup.ErrLocked},
		"empty":                  {nil, mine, backup.ErrDamaged},
		"something else":         {[]byte("This is no backup, though it is long enough to be one."), mine, backup.ErrDamaged},
		"cut in the header":      {made[:40], mine, backup.ErrDamaged},
		"cut in the middle":      {made[:len(made)/2], mine, backup.ErrDamaged},
		"cut by a byte":          {made[:len(made)-1], mine, backup.ErrDamaged},
		"cut at a chunk":         {made[:len(made)-len(made)%(64<<10)], mine, backup.ErrDamaged},
		"something follows":      {append(bytes.Clone(made), 0), mine, backup.ErrDamaged},
		"changed in the middle":  {flip(len(made) / 2), mine, backup.ErrDamaged},
		"changed in the end":     {flip(len(made) - 1), mine, backup.ErrDamaged},
		"changed in the rows":    {flip(2000), mine, backup.ErrDamaged},
		"a disk that is broken":  {nil, mine, syscall.EIO},
		"an operator who leaves": {made, mine, context.Canceled},
	}
	for name, c := range cases {
		for to, target := range databases(t) {
			t.Run(name+" into "+to, func(t *testing.T) {
				t.Parallel()
				cfg := target()
				if cfg.DatabaseURL != "" {
					cfg.DatabaseURL = storetest.EmptyPostgresURL(t, pgtest.Shared(t))
				}
				parent := t.TempDir()
				cfg.DataDir = filepath.Join(parent, "new")
				ctx, from := t.Context(), io.Reader(bytes.NewReader(c.from))
				if c.want == syscall.EIO {
					from = io.MultiReader(bytes.NewReader(made[:len(made)/2]), broken{syscall.EIO})
				}
				if c.want == context.Canceled {
					var cancel context.CancelFunc
					ctx, cancel = context.WithCancel(ctx)
					from = io.MultiReader(bytes.NewReader(made[:len(made)/2]), calling(cancel), bytes.NewReader(made[len(made)/2:]))
				}
				if _, err := server.Restore(ctx, cfg, from, c.identities); !errors.Is(err, c.want) {
					t.Errorf("Restore() = %v, want %v", err, c.want)
				}
				if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
					t.Errorf("left behind: %v, %v", left, err)
				}
				if out, err := server.Restore(t.Context(), cfg, bytes.NewReader(made), mine); err != nil || out.Blobs != 2 {
					t.Errorf("the whole backup afterwards: %+v, %v", out, err)
				}
			})
		}
	}
}

// broken is a reader that fails.
type broken struct{ err error }

// Read implements io.Reader.
func (b broken) Read([]byte) (int, error) { return 0, b.err }

// calling is a reader without bytes that calls a function.
type calling func()

// Read implements io.Reader.
func (c calling) Read([]byte) (int, error) {
	c()
	return 0, io.EOF
}

func TestARestoreTouchesNothingThatIsThere(t *testing.T) {
	t.Parallel()
	l := live(t, server.Config{})
	made := l.backup(t, true)
	refused := func(t *testing.T, cfg server.Config, want error) {
		t.Helper()
		if _, err := server.Restore(t.Context(), cfg, bytes.NewReader(made), []age.Identity{l.identity}); !errors.Is(err, want) {
			t.Errorf("Restore() = %v, want %v", err, want)
		}
	}
	t.Run("the data of a server", func(t *testing.T) {
		refused(t, l.Config, store.ErrNotEmpty)
		if events := l.Events(l.session); len(events) != 4 {
			t.Errorf("the running server has lost its log: %+v", events)
		}
	})
	t.Run("a database with rows", func(t *testing.T) {
		t.Parallel()
		cfg := server.Config{DatabaseURL: storetest.PostgresURL(t)}
		h := servertest.Start(t, cfg)
		h.Stop()
		cfg.DataDir = filepath.Join(t.TempDir(), "new")
		refused(t, cfg, store.ErrNotEmpty)
		if _, err := os.Stat(cfg.DataDir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the data folder was made: %v", err)
		}
	})
	t.Run("a database file elsewhere", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "elsewhere.db")
		cfg := server.Config{DataDir: filepath.Join(t.TempDir(), "new"), DatabaseFile: file}
		if _, err := server.Restore(t.Context(), cfg, bytes.NewReader(made), []age.Identity{l.identity}); err != nil {
			t.Fatal(err)
		}
		cfg.DataDir = filepath.Join(t.TempDir(), "new")
		refused(t, cfg, store.ErrNotEmpty)
	})
	t.Run("a key of the secrets", func(t *testing.T) {
		t.Parallel()
		key := vault.FileKey{Path: filepath.Join(t.TempDir(), "key")}
		if err := os.WriteFile(key.Path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, server.Config{DataDir: filepath.Join(t.TempDir(), "new"), VaultKey: key}, store.ErrNotEmpty)
		if text, err := os.ReadFile(key.Path); err != nil || string(text) != "mine" {
			t.Errorf("the key is %q, %v", text, err)
		}
	})
	t.Run("a restore that was interrupted", func(t *testing.T) {
		t.Parallel()
		cfg := server.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0"}
		if err := os.Mkdir(filepath.Join(cfg.DataDir, "restoring"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Open(t.Context(), cfg); !errors.Is(err, server.ErrRestoring) {
			t.Errorf("a start on half of the data: %v", err)
		}
	})
}

func TestARestoredDatabaseOfAnOlderSchemaIsMigratedWithACopyBeside(t *testing.T) {
	t.Parallel()
	cfg := server.Config{DatabaseURL: storetest.EmptyPostgresURL(t, pgtest.Shared(t)), DataDir: t.TempDir()}
	err := postgres.Fill(t.Context(), postgres.Options{URL: cfg.DatabaseURL}, store.Filling{Schema: 1, Fill: func(l store.Loader) error {
		return l.Load("server_state", []string{"key", "value"}, [][]any{{"note", "from before"}})
	}})
	if err != nil {
		t.Fatal(err)
	}
	// Copies of earlier upgrades: two stay, the oldest goes.
	for _, name := range []string{"postgres.before-0000", "postgres.before-0001"} {
		if err := os.WriteFile(filepath.Join(cfg.DataDir, name), []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	servertest.Start(t, cfg).Stop()
	copies, err := filepath.Glob(filepath.Join(cfg.DataDir, "postgres.before-*"))
	if err != nil || len(copies) != 2 || filepath.Base(copies[0]) != "postgres.before-0001" {
		t.Fatalf("copies beside the data: %q, %v", copies, err)
	}
	made, err := os.ReadFile(copies[1])
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.Restore(t.Context(), server.Config{DataDir: filepath.Join(t.TempDir(), "back")}, bytes.NewReader(made), nil)
	if err != nil || out.Schema != 1 || out.Rows != 1 {
		t.Errorf("the copy restores as %+v, %v", out, err)
	}
}

func TestABackupOnAFullDiskIsNoFile(t *testing.T) {
	t.Parallel()
	l := live(t, server.Config{})
	path := filepath.Join(t.TempDir(), "backup")
	err := server.WriteFile(path, false, func(w io.Writer) error {
		_, err := server.Backup(t.Context(), l.Config, &full{w: w, left: 2 << 10}, []age.Recipient{l.identity.Recipient()}, false)
		return err
	})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("WriteFile() = %v", err)
	}
	if left, err := filepath.Glob(path + "*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// full is a disk with little room.
type full struct {
	w    io.Writer
	left int
}

// Write implements io.Writer.
func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, syscall.ENOSPC
	}
	return f.w.Write(b)
}

func TestADamagedBlobIsReportedAndTheRestIsKept(t *testing.T) {
	t.Parallel()
	l := live(t, server.Config{})
	path := filepath.Join(l.Config.DataDir, "blobs", l.attachment[:2], l.attachment)
	if err := os.WriteFile(path, []byte("noise"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := server.Backup(t.Context(), l.Config, io.Discard, []age.Recipient{l.identity.Recipient()}, false)
	if err != nil || out.Blobs != 1 || !slices.Equal(out.Missing, []string{l.attachment}) {
		t.Errorf("Backup() = %+v, %v; want the blob %s missing", out, err, l.attachment)
	}
}

func TestNothingIsBackedUpWhereThereIsNoData(t *testing.T) {
	t.Parallel()
	l, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	cfg := server.Config{DataDir: t.TempDir()}
	if _, err := server.Backup(t.Context(), cfg, io.Discard, []age.Recipient{l.Recipient()}, false); !errors.Is(err, server.ErrNoData) {
		t.Errorf("Backup() = %v", err)
	}
	noise := filepath.Join(cfg.DataDir, "loam.db")
	if err := os.WriteFile(noise, bytes.Repeat([]byte("noise "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Backup(t.Context(), cfg, io.Discard, []age.Recipient{l.Recipient()}, false); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("Backup() of noise = %v", err)
	}
	if _, err := sqlite.OpenReader(t.Context(), sqlite.Options{Path: filepath.Join(cfg.DataDir, "none.db")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenReader() of nothing = %v", err)
	}
}
