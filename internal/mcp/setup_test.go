package mcp_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/mcp"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/storetest"
	"github.com/loam-agents/loam/internal/vault"
	"github.com/loam-agents/loam/wire"
)

// TestMain lets the test's own executable be an MCP server on its standard streams.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "mcp-stdio" {
		s := newServer("2025-11-25")
		addTool(s, "env", func(context.Context, map[string]any) string { return strings.Join(os.Environ(), "\n") })
		_ = s.Run(context.Background(), &sdk.StdioTransport{}) // It ends when its input does.
		return
	}
	// The servers of the tests keep the sessions of clients that broke off.
	goleak.VerifyTestMain(m, storetest.Leaks(), goleak.IgnoreAnyFunction("github.com/modelcontextprotocol/go-sdk/mcp.(*streamableServerConn).Read"))
}

const owner, stranger = "z6MkOwner", "z6MkStranger"

// bench is a manager on a database, with the owner's account.
type bench struct {
	*mcp.Manager
	t      *testing.T
	store  store.Store
	vault  *vault.Vault
	clock  *clock.Fake
	egress *egress.Egress
	found  []string
	// options are those of the manager.
	options mcp.Options
}

func setup(t *testing.T, s store.Store, change ...func(*mcp.Options)) *bench {
	t.Helper()
	b := &bench{t: t, store: s, clock: clock.NewFake(time.UnixMilli(1_000_000))}
	var err error
	if b.vault, err = vault.Open(t.Context(), s, vault.FileKey{Path: filepath.Join(t.TempDir(), "key")}, b.clock, id.Sequence()); err != nil {
		t.Fatal(err)
	}
	if b.egress, err = egress.New(egress.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.egress.Close)
	o := mcp.Options{
		Store: s, Vault: b.vault, Egress: b.egress, Clock: b.clock, Logger: slog.New(slog.DiscardHandler), Path: os.Getenv("PATH"),
		Redirect: func() string { return "http://127.0.0.1:1/mcp/callback" },
		Found: func(_ store.Tx, s *mcp.Server) error {
			b.found = append(b.found, s.Name)
			return nil
		},
	}
	for _, c := range change {
		c(&o)
	}
	b.options, b.Manager = o, mcp.New(o)
	t.Cleanup(func() { b.Close() })
	b.write(func(tx store.Tx) error { return account.EnsureOwner(tx, owner, 1) })
	return b
}

// restart takes another manager, which knows only what the database holds.
func (b *bench) restart() {
	b.t.Helper()
	b.Close()
	b.Manager = mcp.New(b.options)
}

// secret keeps a secret of an account.
func (b *bench) secret(account, name, value string) {
	b.t.Helper()
	b.write(func(tx store.Tx) error {
		_, err := b.vault.Set(tx, account, name, []byte(value), nil)
		return err
	})
}

func (b *bench) write(fn func(tx store.Tx) error) {
	b.t.Helper()
	if err := b.store.Write(b.t.Context(), store.Interactive, fn); err != nil {
		b.t.Fatal(err)
	}
}

// set saves a server of an account and asks it for its tools.
func (b *bench) set(who, name string, cfg wire.McpServerConfig) mcp.Server {
	b.t.Helper()
	b.write(func(tx store.Tx) error {
		_, err := mcp.Set(tx, who+name, who, name, cfg, b.clock.Now().UnixMilli())
		return err
	})
	b.Forget(who, name)
	s, err := b.Refresh(b.t.Context(), who, name)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bench) call(tool, input string) (mcp.Answer, error) {
	return b.Call(b.t.Context(), owner, "box", tool, json.RawMessage(input))
}

// newServer is an MCP server with one tool that speaks the given revisions.
func newServer(versions ...string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "box", Version: "1"}, &sdk.ServerOptions{SupportedProtocolVersions: versions})
	addTool(s, "echo", func(_ context.Context, in map[string]any) string {
		text, _ := in["text"].(string)
		return "echo " + text
	})
	return s
}

func addTool(s *sdk.Server, name string, fn func(ctx context.Context, in map[string]any) string) {
	s.AddTool(&sdk.Tool{Name: name, Description: "Says it again.", InputSchema: map[string]any{"type": "object", "properties": map[string]any{"text": map[string]any{"type": "string"}}}},
		func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var in map[string]any
			_ = json.Unmarshal(req.Params.Arguments, &in) // what is no object is an empty one
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fn(ctx, in)}}}, nil
		})
}

// serve puts a handler on a socket, behind watch when it is not nil.
func serve(t *testing.T, h http.Handler, watch func(w http.ResponseWriter, r *http.Request) (handled bool)) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if watch == nil || !watch(w, r) {
			h.ServeHTTP(w, r)
		}
	}))
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

func streamable(s *sdk.Server, o *sdk.StreamableHTTPOptions) http.Handler {
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, o)
}
