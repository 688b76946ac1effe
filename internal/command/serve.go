package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	page "github.com/loam-agents/loam/console"
	"github.com/loam-agents/loam/internal/account/quota"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/collector"
	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/internal/command/setting"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/transport/console"
	"github.com/loam-agents/loam/internal/vault"
)

// storage says where the truth and the key of the secrets are. Commands that open the data share it.
type storage struct {
	DatabaseURL     string `help:"Use a PostgreSQL database, such as postgres://user:password@host:5432/loam, instead of the embedded one." placeholder:"URL" env:"LOAM_DATABASE_URL"`
	DatabaseFile    string `help:"File of the embedded database, when it is not loam.db in the data folder." placeholder:"FILE" env:"LOAM_DATABASE_FILE"`
	VaultKeyFile    string `help:"File with the key of the secrets, when it is not vault.key in the data folder." placeholder:"FILE" env:"LOAM_VAULT_KEY_FILE"`
	VaultKeyCommand string `help:"Program, with arguments separated by spaces, that prints the key of the secrets." placeholder:"PROGRAM" env:"LOAM_VAULT_KEY_COMMAND"`
}

// apply puts the settings into a server's configuration.
func (s *storage) apply(a *app, cfg *server.Config) error {
	cfg.DataDir, cfg.DatabaseURL, cfg.DatabaseFile = a.data, s.DatabaseURL, s.DatabaseFile
	sources := 0
	if s.VaultKeyFile != "" {
		cfg.VaultKey = vault.FileKey{Path: s.VaultKeyFile}
		sources++
	}
	if s.VaultKeyCommand != "" {
		cfg.VaultKey = vault.CommandKey{Argv: strings.Fields(s.VaultKeyCommand)}
		sources++
	}
	if value, _ := a.lookup(vault.DefaultVariable); value != "" {
		cfg.VaultKey = vault.EnvKey{}
		sources++
	}
	if sources > 1 {
		return errors.New("the key of the secrets is in more than one place: use one of --vault-key-file, --vault-key-command and LOAM_VAULT_KEY")
	}
	return nil
}

type serveCommand struct {
	storage

	Listen           string            `help:"Address to listen on; port 0 takes a free one." placeholder:"HOST:PORT" env:"LOAM_LISTEN" default:"127.0.0.1:3050"`
	PublicURL        string            `help:"Where clients reach the server; needed to listen on anything but this machine." placeholder:"URL" env:"LOAM_PUBLIC_URL"`
	Accounts         string            `help:"Who may act: open (any key) or invite (known accounts). Open on loopback and invite elsewhere when not set." placeholder:"open|invite" env:"LOAM_ACCOUNTS"`
	AdminListen      string            `help:"Address of metrics, health and profiles, such as 127.0.0.1:3051; none when not set. It has no sign-in." placeholder:"HOST:PORT" env:"LOAM_ADMIN_LISTEN"`
	AdminRemote      bool              `help:"Let admin-listen be an address that other machines reach." env:"LOAM_ADMIN_REMOTE"`
	EgressAllow      []string          `help:"Addresses that are reachable although they are private." placeholder:"HOST:PORT" env:"LOAM_EGRESS_ALLOW"`
	EgressAgents     string            `help:"Whether agents may reach the network: on or off." enum:"on,off" placeholder:"on|off" env:"LOAM_EGRESS_AGENTS" default:"on"`
	ProviderURL      map[string]string `help:"Another address for a type of provider, such as a gateway." placeholder:"TYPE=URL" env:"LOAM_PROVIDER_URL"`
	AnthropicVersion string            `help:"Value of the anthropic-version header." placeholder:"DATE" env:"LOAM_ANTHROPIC_VERSION"`
	SubscriptionID   string            `name:"subscription-client-id" help:"Client id with which people sign in to a model service instead of having a key (Sign in with ChatGPT); nobody can when not set." placeholder:"ID" env:"LOAM_SUBSCRIPTION_CLIENT_ID"`
	SubscriptionURL  string            `name:"subscription-issuer" help:"Another address of the service that signs people in." placeholder:"URL" env:"LOAM_SUBSCRIPTION_ISSUER"`
	SubscriptionAPI  string            `name:"subscription-api" help:"Another address of the models of people who signed in." placeholder:"URL" env:"LOAM_SUBSCRIPTION_API"`
	ModelsFile       string            `help:"JSON file that corrects the catalogue of models." placeholder:"FILE" env:"LOAM_MODELS_FILE"`
	Workers          int               `help:"How many runs execute at once." placeholder:"N" env:"LOAM_WORKERS" default:"64"`
	MaxBody          int64             `help:"Largest request in bytes." placeholder:"BYTES" env:"LOAM_MAX_BODY" default:"33554432"`
	LimitActions     int               `help:"Requests of an account in a second; 0 is no limit. The limits do not hold for the server owner." placeholder:"N" env:"LOAM_LIMIT_ACTIONS" default:"200"`
	LimitSigner      int               `name:"limit-signer-actions" help:"Requests of one key, token or browser in a second; 0 is no limit." placeholder:"N" env:"LOAM_LIMIT_SIGNER_ACTIONS" default:"100"`
	LimitMessages    int               `help:"Messages of an account in a minute; 0 is no limit." placeholder:"N" env:"LOAM_LIMIT_MESSAGES" default:"60"`
	LimitStorage     int64             `help:"Bytes that an account keeps in files and uploads; 0 is no limit." placeholder:"BYTES" env:"LOAM_LIMIT_STORAGE" default:"10737418240"`
	LimitSessions    int               `help:"Sessions of an account; 0 is no limit." placeholder:"N" env:"LOAM_LIMIT_SESSIONS" default:"10000"`
	LimitSockets     int               `help:"Open WebSockets of an account; 0 is no limit." placeholder:"N" env:"LOAM_LIMIT_SOCKETS" default:"256"`
	LimitKeys        int               `name:"limit-subscriptions" help:"Subscriptions of an account on all its WebSockets; 0 is no limit." placeholder:"N" env:"LOAM_LIMIT_SUBSCRIPTIONS" default:"4096"`
	LimitSocketKeys  int               `name:"limit-socket-subscriptions" help:"Subscriptions on one WebSocket, also of the server owner." placeholder:"N" env:"LOAM_LIMIT_SOCKET_SUBSCRIPTIONS" default:"256"`
	LimitOwner       bool              `help:"Let the limits hold for the server owner too." env:"LOAM_LIMIT_OWNER"`
	DrainTimeout     time.Duration     `help:"How long turns in progress may take to end when the server stops." placeholder:"DURATION" env:"LOAM_DRAIN_TIMEOUT" default:"5s"`
	DrainDelay       time.Duration     `help:"How long a server that was told to stop goes on while /readyz says that it is not ready; for servers behind a load balancer." placeholder:"DURATION" env:"LOAM_DRAIN_DELAY" default:"0s"`
	HMServerURL      string            `name:"hm-server-url" help:"Hypermedia server that agents read, search and publish to; clients are told it." placeholder:"URL" env:"LOAM_HM_SERVER_URL"`
	IPFSServerURL    string            `name:"ipfs-server-url" help:"IPFS server that files are read from; clients are told it. The hypermedia server when not set." placeholder:"URL" env:"LOAM_IPFS_SERVER_URL"`
	SearXNGURL       string            `name:"searxng-url" help:"SearXNG instance that web_search asks; its JSON format must be on." placeholder:"URL" env:"LOAM_SEARXNG_URL"`
	SearchEngines    []string          `help:"Search engines in the order in which web_search asks them: searxng, duckduckgo, brave, tavily, exa. SearXNG alone when only its address is set." placeholder:"NAME" env:"LOAM_SEARCH_ENGINES"`
	SearchKey        map[string]string `help:"Key of a search engine; better in the variable or the file than on the command line." placeholder:"NAME=KEY" env:"LOAM_SEARCH_KEY"`
	SearchURL        map[string]string `help:"Another address of a search engine, such as a gateway." placeholder:"NAME=URL" env:"LOAM_SEARCH_URL"`
	CrawlerURL       string            `help:"Crawl4AI service for web pages that need a browser. It must not reach private networks." placeholder:"URL" env:"LOAM_CRAWLER_URL"`
	CrawlerToken     string            `help:"Bearer token of the crawler service; better in the variable or the file than on the command line." placeholder:"TOKEN" env:"LOAM_CRAWLER_TOKEN"`
	McpCommand       []string          `name:"mcp-command" help:"Programs that the server owner may run as MCP servers on this machine; each runs with the rights of the server." placeholder:"PROGRAM" env:"LOAM_MCP_COMMAND"`
	LogLevel         string            `help:"Least level that is logged: debug, info, warn or error." enum:"debug,info,warn,error" placeholder:"LEVEL" env:"LOAM_LOG_LEVEL" default:"info"`
	LogFormat        string            `help:"Form of log lines: text or json." enum:"text,json" placeholder:"text|json" env:"LOAM_LOG_FORMAT" default:"text"`

	TutorPace time.Duration `hidden:"" env:"LOAM_TUTOR_PACE" default:"15ms"`
	CrashAt   string        `hidden:"" env:"LOAM_CRASH_AT"`
}

// configuration is what the flags mean to a server. Every error is one of usage.
func (c *serveCommand) configuration(a *app) (server.Config, error) {
	cfg := server.Config{
		Listen: c.Listen, PublicURL: c.PublicURL, Accounts: c.Accounts, EgressAllow: c.EgressAllow,
		AdminListen: c.AdminListen, AdminRemote: c.AdminRemote,
		EgressAgentsOff: c.EgressAgents == "off", ProviderURLs: c.ProviderURL, AnthropicVersion: c.AnthropicVersion,
		ModelsFile: c.ModelsFile, Workers: c.Workers, MaxBody: c.MaxBody, DrainTimeout: c.DrainTimeout, DrainDelay: c.DrainDelay,
		TutorPace: c.TutorPace, CrashAt: c.CrashAt, Page: console.New(page.Files()),
	}
	if c.TutorPace <= 0 {
		cfg.TutorPace = -1
	}
	if err := c.limits(&cfg); err != nil {
		return cfg, err
	}
	if c.Workers < 1 || c.MaxBody < 1 || c.DrainTimeout <= 0 {
		return cfg, errors.New("--workers, --max-body and --drain-timeout must be positive")
	}
	var err error
	if cfg.HMServerURL, err = setting.CheckURL("hm-server-url", c.HMServerURL); err != nil {
		return cfg, err
	}
	if cfg.IPFSServerURL, err = setting.CheckURL("ipfs-server-url", c.IPFSServerURL); err != nil {
		return cfg, err
	}
	cfg.SubscriptionClientID = c.SubscriptionID
	if cfg.SubscriptionIssuer, err = setting.CheckURL("subscription-issuer", c.SubscriptionURL); err != nil {
		return cfg, err
	}
	if cfg.SubscriptionAPI, err = setting.CheckURL("subscription-api", c.SubscriptionAPI); err != nil {
		return cfg, err
	}
	if err := c.applyWeb(&cfg); err != nil {
		return cfg, err
	}
	if cfg.IPFSServerURL == "" {
		cfg.IPFSServerURL = cfg.HMServerURL
	}
	if err := c.apply(a, &cfg); err != nil {
		return cfg, err
	}
	return cfg, cfg.Check()
}

// applyWeb puts the settings of reading and searching the web into a server's configuration.
func (c *serveCommand) applyWeb(cfg *server.Config) (err error) {
	if cfg.SearXNGURL, err = setting.CheckURL("searxng-url", c.SearXNGURL); err != nil {
		return err
	}
	if cfg.CrawlerURL, err = setting.CheckURL("crawler-url", c.CrawlerURL); err != nil {
		return err
	}
	if cfg.Executable, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	cfg.McpCommands = c.McpCommand
	cfg.CrawlerToken, cfg.SearchEngines, cfg.SearchKeys, cfg.SearchURLs = c.CrawlerToken, c.SearchEngines, c.SearchKey, c.SearchURL
	return nil
}

// limits puts the limits of accounts into a configuration, in which a negative number is none.
func (c *serveCommand) limits(cfg *server.Config) error {
	none := func(n int) int {
		if n == 0 {
			return -1
		}
		return n
	}
	for _, n := range []int{c.LimitActions, c.LimitSigner, c.LimitMessages, c.LimitSessions, c.LimitSockets, c.LimitKeys} {
		if n < 0 {
			return errors.New("a limit must not be negative; 0 is no limit")
		}
	}
	if c.LimitStorage < 0 || c.LimitSocketKeys < 1 {
		return errors.New("--limit-storage must not be negative, and --limit-socket-subscriptions must be positive")
	}
	cfg.Limits = quota.Limits{
		Actions: none(c.LimitActions), SignerActions: none(c.LimitSigner), Messages: none(c.LimitMessages), Storage: c.LimitStorage,
		Sessions: none(c.LimitSessions), Sockets: none(c.LimitSockets), Subscriptions: none(c.LimitKeys),
	}
	if c.LimitStorage == 0 {
		cfg.Limits.Storage = -1
	}
	cfg.LimitOwner, cfg.SocketSubscriptions = c.LimitOwner, c.LimitSocketKeys
	return nil
}

func (c *serveCommand) logger(a *app) *slog.Logger {
	var level slog.Level
	// The flag's enum admits nothing that is no level.
	_ = level.UnmarshalText([]byte(c.LogLevel))
	options := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(a.err, options))
	}
	return slog.New(slog.NewTextHandler(a.err, options))
}

// Run serves until a signal comes.
func (c *serveCommand) Run(ctx context.Context, a *app) error {
	cfg, err := c.configuration(a)
	if err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	notes, err := setting.CheckAliases(a.environ)
	if err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	cfg.Logger = c.logger(a)
	collector.Tune()
	for _, note := range notes {
		cfg.Logger.Warn(note)
	}
	start := clock.System{}.Now()
	err = a.host(ctx, cfg, func(ctx context.Context, h hosted) error {
		first := a.firstAgent(ctx, h.url, start)
		attributes := append([]any{"url", h.url, "data", a.data, "owner", h.server.Owner().String()}, first.attributes()...)
		if admin := h.server.AdminAddr(); admin != "" {
			attributes = append(attributes, "admin", localURL(admin))
		}
		cfg.Logger.Info("ready", attributes...)
		link := c.firstLink(ctx, cfg.Logger, h)
		switch {
		case isTerminal(a.err):
			a.welcome(h, first, link)
		case link != "":
			fmt.Fprintln(a.err, "Sign in, once, within 15 minutes: "+link)
		}
		<-ctx.Done()
		return nil
	})
	if err == nil {
		cfg.Logger.Info("stopped")
	}
	return err
}

// firstLink is how the owner's browser signs in after the first start; empty after other starts, and where lines are for machines.
// It is a courtesy: `loam link` makes one at any time.
func (c *serveCommand) firstLink(ctx context.Context, log *slog.Logger, h hosted) string {
	if !h.server.First() || c.LogFormat == "json" {
		return ""
	}
	link, err := h.server.SignInLink(ctx)
	if err != nil && ctx.Err() == nil {
		log.Warn("no sign-in link could be made; `loam link` tries again", "error", err)
	}
	return link
}

// hosted is a server of this process that listens.
type hosted struct {
	server *server.Server
	url    string
}

// host runs a server while work does, and ends it then. The context of work ends with ctx and when the server fails.
func (a *app) host(ctx context.Context, cfg server.Config, work func(context.Context, hosted) error) (err error) {
	s, err := server.Open(ctx, cfg)
	if err != nil {
		return unlessStopped(ctx, explainAddress(cfg.Listen, err))
	}
	address := addressFile(a.data)
	h := hosted{server: s, url: localURL(s.Addr())}
	if err := address.write(h.url); err != nil {
		return errors.Join(err, s.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() {
		defer cancel()
		served <- s.Serve(ctx)
	}()
	err = work(ctx, h)
	cancel()
	return errors.Join(err, unlessStopped(ctx, <-served), address.remove())
}

// unlessStopped drops the error of a server that was told to stop while it started: that is how it should end.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func explainAddress(listen string, err error) error {
	if exitcode.Of(err) != exitcode.AddressInUse {
		return err
	}
	return fmt.Errorf("%w; another program, perhaps another Loam, uses %s: stop it or choose another address with --listen", err, listen)
}
