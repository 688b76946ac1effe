package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/account/passkey"
	"github.com/loam-agents/loam/internal/account/quota"
	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/blobstore"
	"github.com/loam-agents/loam/internal/buildinfo"
	"github.com/loam-agents/loam/internal/bus"
	"github.com/loam-agents/loam/internal/callable"
	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/engine"
	"github.com/loam-agents/loam/internal/hypermedia"
	"github.com/loam-agents/loam/internal/mcp"
	"github.com/loam-agents/loam/internal/model/catalogue"
	"github.com/loam-agents/loam/internal/model/connect"
	"github.com/loam-agents/loam/internal/model/limit"
	"github.com/loam-agents/loam/internal/model/subscription"
	"github.com/loam-agents/loam/internal/notify"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/script"
	"github.com/loam-agents/loam/internal/server/metrics"
	"github.com/loam-agents/loam/internal/sessionlog"
	"github.com/loam-agents/loam/internal/spawn"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/store/postgres"
	"github.com/loam-agents/loam/internal/store/sqlite"
	"github.com/loam-agents/loam/internal/transport/inbound"
	"github.com/loam-agents/loam/internal/transport/origin"
	"github.com/loam-agents/loam/internal/transport/rest"
	"github.com/loam-agents/loam/internal/transport/signed"
	"github.com/loam-agents/loam/internal/transport/webhook"
	"github.com/loam-agents/loam/internal/trigger"
	"github.com/loam-agents/loam/internal/vault"
	"github.com/loam-agents/loam/internal/workflow"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// largestBodies is how many bodies of the largest size the memory for all requests takes.
const largestBodies = 8

// Server is every part of Loam in one process.
type Server struct {
	cfg     Config
	started time.Time
	// point is told of every named point that is reached.
	point func(name string)
	owner principal.ID
	// first says that this start made the owner.
	first bool

	store  store.Store
	blobs  *blobstore.Dir
	vault  *vault.Vault
	egress *egress.Egress
	// hypermedia is where accounts are published; nil without a hypermedia server.
	hypermedia *hypermedia.Client
	// gateway is where files of the network are read; nil when there is none.
	gateway *hypermedia.Client
	// subscription signs accounts in with a model service; nil when that is not set up.
	subscription *subscription.Service
	// capabilities fetches capabilities by their CID; nil without an IPFS server.
	capabilities func(ctx context.Context, cid string) ([]byte, error)
	catalogue    *catalogue.Catalogue
	outside      outside
	mcp          *mcp.Manager
	bus          *bus.Local
	log          *sessionlog.Log
	notify       *notify.Notifier
	queue        *runs.Queue
	models       *models
	tools        *callable.Registry
	spawner      *spawn.Spawner
	quota        *quota.Quota
	ops          *operation.Service
	triggers     *trigger.Service
	scripts      *script.Compiler
	signed       *signed.Server
	rest         *rest.Server
	webhooks     *webhook.Server
	origin       *origin.Policy
	http         *http.Server
	listener     net.Listener

	metrics       *metrics.Metrics
	adminListener net.Listener
	// draining is true from the moment the server is told to stop.
	draining atomic.Bool

	closing sync.Once
	closed  error
}

// Open builds a server: it binds the address, makes the data directory, opens and migrates the database, and makes what a first
// start needs. An address that cannot be bound leaves nothing behind. Clients that connect are answered once Serve works. Errors wrap those of store and vault (store.ErrLocked, vault.ErrWrongKey, …).
func Open(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	s := newServer(cfg)
	if err := s.listen(); err != nil {
		return nil, err
	}
	if err := s.listenAdmin(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, errors.Join(fmt.Errorf("make the data directory: %w", err), s.Close())
	}
	if err := s.build(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func newServer(cfg Config) *Server {
	return &Server{cfg: cfg, started: cfg.Clock.Now(), bus: bus.NewLocal(), metrics: metrics.New()}
}

func (s *Server) build(ctx context.Context) (err error) {
	s.point = crashPoint(s.cfg.CrashAt)
	if s.store, err = s.openStore(ctx); err != nil {
		return err
	}
	if s.blobs, err = blobstore.OpenDir(s.cfg.blobDir()); err != nil {
		return fmt.Errorf("open the blob store: %w", err)
	}
	source := s.cfg.VaultKey
	if source == nil {
		source = vault.FileKey{Path: filepath.Join(s.cfg.DataDir, "vault.key")}
	}
	if s.vault, err = vault.Open(ctx, s.store, source, s.cfg.Clock, s.cfg.IDs); err != nil {
		return fmt.Errorf("open the vault: %w", err)
	}
	s.egress, err = egress.New(egress.Options{Allow: s.cfg.EgressAllow, AgentsOff: s.cfg.EgressAgentsOff})
	if err != nil {
		return err
	}
	if s.hypermedia, err = s.publisher(); err != nil {
		return err
	}
	if s.gateway, err = s.fileReader(); err != nil {
		return err
	}
	if s.subscription, err = s.signIns(); err != nil {
		return err
	}
	if s.capabilities, err = s.fetcher(); err != nil {
		return err
	}
	if err := s.openOutside(); err != nil {
		return err
	}
	s.openMcp()
	if s.catalogue, err = catalogue.New(s.cfg.ModelsFile); err != nil {
		return fmt.Errorf("read the model catalogue: %w", err)
	}
	if err := s.assemble(); err != nil {
		return err
	}
	s.watch()
	return s.bootstrap(ctx)
}

func (s *Server) openStore(ctx context.Context) (store.Store, error) {
	cfg := &s.cfg
	if err := cfg.checkRestored(); err != nil {
		return nil, err
	}
	if cfg.DatabaseURL != "" {
		return postgres.Open(ctx, postgres.Options{
			URL: cfg.DatabaseURL, Logger: cfg.Logger, Committed: s.metrics.Committed, BeforeMigrating: s.beforeMigrating, Point: s.point,
		})
	}
	return sqlite.Open(ctx, sqlite.Options{
		Path: cfg.databasePath(), Clock: cfg.Clock, Logger: cfg.Logger, Committed: s.metrics.Committed, Point: s.point,
	})
}

// assemble connects the parts. Nothing runs yet.
func (s *Server) assemble() error {
	cfg := &s.cfg
	s.models = &models{metrics: s.metrics, Connector: connect.New(connect.Options{
		Store: s.store, Vault: s.vault, Egress: s.egress, Catalogue: s.catalogue, Limits: limit.New(limit.Options{Clock: cfg.Clock}),
		Clock: cfg.Clock, Addresses: cfg.ProviderURLs, TrustAccounts: cfg.trustAccounts(), AnthropicVersion: cfg.AnthropicVersion, Subscription: s.subscription,
		TutorPace: max(cfg.TutorPace, 0),
	})}
	s.quota = quota.New(quota.Options{
		Limits: cfg.Limits, Clock: cfg.Clock, Refused: s.metrics.QuotaRefused,
		Exempt: func(account string) bool { return !cfg.LimitOwner && account == s.owner.String() },
	})
	s.notify = notify.New(notify.Options{
		Store: s.store, Bus: s.bus, Clock: cfg.Clock, Logger: cfg.Logger,
		Sessions: func() *sessionlog.Log { return s.log },
		AgentInfo: func(a agent.Agent, role string, activity *wire.AgentActivity) wire.AgentInfo {
			return s.ops.AgentInfo(a, role, activity)
		},
	})
	s.log = sessionlog.New(sessionlog.Options{
		Clock: cfg.Clock, IDs: cfg.IDs, Bus: s.bus, Blobs: s.blobs, Changed: s.notify.SessionChanged,
	})
	s.scripts = script.NewCompiler(cfg.Executable)
	s.openTriggers(s.point)
	surface, err := s.surface()
	if err != nil {
		return err
	}
	turns := engine.New(engine.Options{
		Store: s.store, Log: s.log, Bus: s.bus, Models: s.models, Verbs: surface, Tools: s.tools, Clock: cfg.Clock, IDs: cfg.IDs,
		Logger: cfg.Logger, Point: s.point,
	})
	s.queue = runs.New(runs.Options{
		Store: s.store, Clock: cfg.Clock, IDs: cfg.IDs, Log: cfg.Logger, Workers: cfg.Workers, Point: s.point,
		Owner: fmt.Sprintf("%d.%s", s.store.Epoch(), cfg.IDs()), Gone: s.ownerGone,
		Exclusive: s.store.Dialect() == store.SQLite, Hooks: runs.Hooks{Changed: s.runChanged, Delivered: s.spawner.Deliver, Ended: s.spawner.Ended, Concluded: s.triggers.RunEnded, Abandoned: turns.Abandoned, Journaled: s.notify.Journaled},
		Executors: map[string]runs.Executor{runs.KindAgent: turns, trigger.KindSend: s.sender(), runs.KindWorkflow: workflow.New(workflow.Options{
			Store: s.store, Queue: func() *runs.Queue { return s.queue }, Verbs: surface, Tools: s.tools, Gate: s.gate(), Spawner: s.spawner, Bus: s.bus, Clock: cfg.Clock, Point: s.point,
		})},
	})
	s.door(turns)
	return nil
}

// door makes what callers meet.
func (s *Server) door(turns *engine.Engine) {
	cfg := &s.cfg
	listen := cfg.Listen
	if s.listener != nil {
		listen = s.Addr()
	}
	s.origin = origin.New(cfg.PublicURL, listen)
	s.ops = operation.New(operation.Options{
		FetchCapability: s.capabilities, Hypermedia: s.hypermedia, Subscription: s.subscription,
		Store: s.store, Log: s.log, Runs: s.queue, Vault: s.vault, Blobs: s.blobs, Download: s.egress.Agent(), Engine: turns, Models: s.models, Tools: s.tools, Scripts: s.scripts, Triggers: s.triggers, WebhookURL: s.webhookURL, Mcp: s.mcp, Equip: s.equip, Notify: s.notify,
		Policy: account.Policy{Open: cfg.Accounts == "open"}, Quota: s.quota, Clock: cfg.Clock, IDs: cfg.IDs, Logger: cfg.Logger, StateDir: s.stateDir,
		Point: s.point, Observe: s.metrics.Operation, About: wire.ServerInfo{
			Version: buildinfo.Version, Accounts: cfg.Accounts, PublicURL: cfg.PublicURL, Protocol: wire.ProtocolNumber,
		},
		SignInURL: s.signInURL, Passkeys: passkey.New(s.origin.Name(), s.origin.Origin()),
	})
	limits := inbound.Limits{MaxBody: cfg.MaxBody, Budget: inbound.NewBudget(largestBodies * max(cfg.MaxBody, inbound.DefaultMaxBody))}
	s.rest = rest.New(rest.Options{
		Operations: s.ops, Bus: s.bus, Clock: cfg.Clock, IDs: cfg.IDs, Logger: cfg.Logger, Limits: limits, Origin: s.origin,
	})
	s.webhooks = webhook.New(s.triggers, cfg.Logger)
	s.signed = signed.New(signed.Options{
		Operations: s.ops, Bus: s.bus, Clock: cfg.Clock, IDs: cfg.IDs, Logger: cfg.Logger, Health: s.health, Version: s.version(),
		Limits: limits, Quota: s.quota, MaxSubscriptions: cfg.SocketSubscriptions,
	})
}

// ownerGone tells whether the process that an owner of leases names (its store epoch stands before the dot) is dead.
func (s *Server) ownerGone(ctx context.Context, owner string) (bool, error) {
	text, _, _ := strings.Cut(owner, ".")
	epoch, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return false, nil
	}
	alive, err := s.store.Alive(ctx, epoch)
	return !alive, err
}

// trustAccounts: on a server that only this machine reaches and that takes any key, a local model of any account is fine.
func (c *Config) trustAccounts() bool {
	loopback, err := isLoopback(c.Listen)
	return err == nil && loopback && c.Accounts == "open"
}

func (s *Server) stateDir(agentID string) string {
	return filepath.Join(s.cfg.DataDir, "agents", agentID)
}

// First tells whether this is the first start on the data.
func (s *Server) First() bool { return s.first }

// Owner is the server owner's account.
func (s *Server) Owner() principal.ID { return s.owner }
