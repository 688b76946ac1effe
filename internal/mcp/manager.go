package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/vault"
)

// Egress makes the HTTP clients; *egress.Egress is one.
type Egress interface {
	// Agent is the client for addresses that the operator did not choose.
	Agent() *http.Client
	// Operator is the client for one that they did; it fails for what is no http or https URL.
	Operator(baseURL string) (*http.Client, error)
}

// Options configures New.
type Options struct {
	Store  store.Store
	Vault  *vault.Vault
	Egress Egress
	Clock  clock.Clock
	Logger *slog.Logger
	// TrustAccounts says that an address which any account set counts as the operator's: the server listens on loopback and takes any key.
	TrustAccounts bool
	// Commands are the programs that the owner may run as servers; none when empty. Path is where they are looked for.
	Commands []string
	Path     string
	// Redirect is the address that a sign-in comes back to.
	Redirect func() string
	// Found is called in the transaction that saves what a server offers, so that agents get its tools. It may be nil.
	Found func(tx store.Tx, s *Server) error
	// Random makes the secrets of a sign-in; crypto/rand when nil.
	Random func() string
}

// Manager keeps the connections to all servers. It is safe for concurrent use.
type Manager struct {
	opts Options

	mu    sync.Mutex
	links map[string]*slot
	done  bool
	// work counts refreshes in the background, which end with ctx.
	work sync.WaitGroup
	ctx  context.Context
	stop context.CancelFunc
}

// slot is the place of one server's connection. Its lock is held while connecting.
type slot struct {
	mu   sync.Mutex
	link *link
	// config is the UpdatedAt of the configuration that the link was opened with.
	config int64
	// idle closes the link; it is set anew by every use.
	idle *time.Timer
	// uses counts calls in progress, during which the link stays.
	uses int
	// token is held while a token is renewed.
	token sync.Mutex
	// refreshing is true while the tools are being listed in the background.
	refreshing bool
}

// New returns a Manager. Close it.
func New(o Options) *Manager {
	if o.Random == nil {
		o.Random = randomText
	}
	m := &Manager{opts: o, links: map[string]*slot{}}
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m
}

// Close ends every connection and waits for work in the background. Calls fail from then on.
func (m *Manager) Close() {
	m.stop()
	m.mu.Lock()
	m.done = true
	slots := m.links
	m.links = map[string]*slot{}
	m.mu.Unlock()
	for _, s := range slots {
		s.drop()
	}
	m.work.Wait()
}

// Forget closes the connection to a server whose configuration changed or is gone.
func (m *Manager) Forget(account, name string) {
	m.mu.Lock()
	s := m.links[account+"/"+name]
	delete(m.links, account+"/"+name)
	m.mu.Unlock()
	if s != nil {
		s.drop()
	}
}

func (s *slot) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked()
}

func (s *slot) closeLocked() {
	if s.idle != nil {
		s.idle.Stop()
	}
	if s.link != nil {
		s.link.close()
		s.link = nil
	}
}

func (m *Manager) slot(s *Server) (*slot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.done {
		return nil, fault.New(fault.Unavailable, "The server is stopping")
	}
	key := s.Account + "/" + s.Name
	if m.links[key] == nil {
		m.links[key] = &slot{}
	}
	return m.links[key], nil
}

// use runs fn on the connection to a server, which is opened when it is not. A session that the server no longer knows is opened anew,
// once: the server has refused the request before it did anything. A connection that breaks meanwhile is not repeated, as nobody knows
// what the request did.
func (m *Manager) use(ctx context.Context, s *Server, fn func(l *link) error) error {
	err := m.useOnce(ctx, s, fn)
	if errors.Is(err, sdk.ErrSessionMissing) {
		err = m.useOnce(ctx, s, fn)
	}
	return err
}

func (m *Manager) useOnce(ctx context.Context, s *Server, fn func(l *link) error) error {
	place, err := m.slot(s)
	if err != nil {
		return err
	}
	l, err := place.open(func() (*link, error) {
		dialing, cancel := context.WithTimeout(ctx, ConnectTimeout)
		defer cancel()
		return m.dial(dialing, s, func() { m.refreshLater(s.Account, s.Name) })
	}, s.UpdatedAt)
	if err != nil {
		return err
	}
	err = fn(l)
	place.done(l, l.alive() && answered(err))
	return err
}

// answered tells whether the connection is still good after a request with this error: the server said it, or the caller went away.
func answered(err error) bool {
	_, said := errors.AsType[*jsonrpc.Error](err)
	return err == nil || said || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// open returns the connection of the slot, or makes one.
func (s *slot) open(dial func() (*link, error), config int64) (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil && (!s.link.alive() || s.uses == 0 && s.config != config) {
		s.closeLocked()
	}
	if s.link == nil {
		l, err := dial()
		if err != nil {
			return nil, err
		}
		s.link, s.config = l, config
	}
	if s.idle != nil {
		s.idle.Stop()
	}
	s.uses++
	return s.link, nil
}

// done ends a use. The last one starts the time after which the connection is closed.
func (s *slot) done(l *link, good bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uses--
	if s.link != l {
		return
	}
	if !good {
		s.closeLocked()
		return
	}
	if s.uses == 0 {
		s.idle = time.AfterFunc(IdleTimeout, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.uses == 0 && s.link == l {
				s.closeLocked()
			}
		})
	}
}

// Probe asks a server for its tools. The error of a server that does not answer is in the Discovery.
func (m *Manager) Probe(ctx context.Context, s *Server) Discovery {
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	var found []*sdk.Tool
	err := m.use(ctx, s, func(l *link) (err error) {
		found, err = list(ctx, l)
		return err
	})
	if err != nil {
		return Discovery{Err: explain(err, s.Name)}
	}
	return Discovery{Tools: project(s.Name, found)}
}

// list reads the pages of a server's tools; a server that never comes to an end is left after MaxPages or MaxTools.
func list(ctx context.Context, l *link) (out []*sdk.Tool, err error) {
	var cursor string
	for range MaxPages {
		page, err := l.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		out = append(out, page.Tools...)
		if page.NextCursor == "" || page.NextCursor == cursor || len(out) >= MaxTools {
			break
		}
		cursor = page.NextCursor
	}
	return out, nil
}

// Refresh asks a server of an account for its tools and saves what it found. A missing server is fault.NotFound; one that does not answer
// is no error, its State says so.
func (m *Manager) Refresh(ctx context.Context, account, name string) (Server, error) {
	var s Server
	err := m.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		s, err = Get(tx, account, name)
		return err
	})
	if err != nil {
		return Server{}, err
	}
	d := m.Probe(ctx, &s)
	if errors.Is(d.Err, context.Canceled) {
		return Server{}, d.Err
	}
	err = m.opts.Store.Write(ctx, store.Background, func(tx store.Tx) (err error) {
		if s, err = Get(tx, account, name); err != nil {
			return err
		}
		return m.Save(tx, &s, d)
	})
	return s, err
}

// Save keeps a discovery and hands the tools to the agents that use the server.
func (m *Manager) Save(tx store.Tx, s *Server, d Discovery) error {
	if err := SaveDiscovery(tx, s, d, clock.Millis(m.opts.Clock)); err != nil {
		return err
	}
	if m.opts.Found == nil || d.Err != nil {
		return nil
	}
	return m.opts.Found(tx, s)
}

// Gone takes the tools of a server that was deleted from the agents that use it.
func (m *Manager) Gone(tx store.Tx, s *Server) error {
	s.Tools = nil
	if m.opts.Found == nil {
		return nil
	}
	return m.opts.Found(tx, s)
}

// refreshLater renews what is known of a server, once at a time.
func (m *Manager) refreshLater(account, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.links[account+"/"+name]
	if m.done || s == nil || s.refreshing {
		return
	}
	s.refreshing = true
	m.work.Add(1)
	go func() {
		defer m.work.Done()
		_, err := m.Refresh(m.ctx, account, name)
		m.mu.Lock()
		s.refreshing = false
		m.mu.Unlock()
		if err != nil && m.ctx.Err() == nil && fault.CodeOf(err) != fault.NotFound {
			m.opts.Logger.Warn("renew the tools of an MCP server", "account", account, "server", name, "error", err)
		}
	}()
}

// Call carries out a tool of an account's server. Errors are *fault.Error, or the context's: not_found for a server that is gone,
// provider_error for one that does not answer. A failure that the tool reports is an Answer.
func (m *Manager) Call(ctx context.Context, account, name, tool string, input json.RawMessage) (Answer, error) {
	var s Server
	err := m.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		s, err = Get(tx, account, name)
		return err
	})
	if err != nil {
		return Answer{}, err
	}
	inner, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	var out *sdk.CallToolResult
	err = m.use(inner, &s, func(l *link) (err error) {
		out, err = l.session.CallTool(inner, &sdk.CallToolParams{Name: tool, Arguments: input})
		return err
	})
	switch {
	case ctx.Err() != nil:
		return Answer{}, ctx.Err()
	case err != nil:
		return Answer{}, explain(err, name)
	}
	if m.opts.Clock.Now().Sub(time.UnixMilli(s.CheckedAt)) > DiscoveryTTL {
		m.refreshLater(account, name)
	}
	return answer(name, tool, out), nil
}

// owns tells whether an account is the server owner's; trusts also counts accounts that may set operator addresses.
func (m *Manager) owns(ctx context.Context, id string) (owned bool, err error) {
	err = m.opts.Store.Read(ctx, func(tx store.Tx) error {
		owner, ok, err := account.Owner(tx)
		owned = ok && owner == id
		return err
	})
	return owned, err
}

func (m *Manager) trusts(ctx context.Context, id string) (bool, error) {
	if m.opts.TrustAccounts {
		return true, nil
	}
	return m.owns(ctx, id)
}
