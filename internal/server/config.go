package server

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/loam-agents/loam/internal/account/quota"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/id"
	"github.com/loam-agents/loam/internal/logctx"
	"github.com/loam-agents/loam/internal/vault"
)

// Config is everything that an operator decides. The zero value of a field is its default.
type Config struct {
	// Listen is the address to serve on; 127.0.0.1:3050 when empty. Port 0 takes a free one.
	Listen string
	// DataDir holds the database, blobs, keys and the lock; ./loam-data when empty. It is made with mode 0700.
	DataDir string
	// DatabaseFile replaces <DataDir>/loam.db.
	DatabaseFile string
	// DatabaseURL is a PostgreSQL connection string; SQLite when empty.
	DatabaseURL string
	// Accounts says whether unknown keys may act: "open" or "invite". Empty is open on loopback and invite elsewhere.
	Accounts string
	// PublicURL is where clients reach the server. It is required to listen on anything but loopback.
	PublicURL string
	// AdminListen is the address of the admin listener (metrics, health, profiles); there is none when empty. It has no
	// sign-in, so an address that other machines reach is refused unless AdminRemote is set.
	AdminListen string
	AdminRemote bool
	// EgressAllow lists HOST:PORT exceptions from the address rules of outgoing requests.
	EgressAllow []string
	// EgressAgentsOff refuses all network access that an agent's choice leads to.
	EgressAgentsOff bool
	// ProviderURLs replace the default address of a provider type.
	ProviderURLs map[string]string
	// AnthropicVersion replaces the anthropic-version header.
	AnthropicVersion string
	// SubscriptionClientID is what the service of subscriptions ("Sign in with ChatGPT") knows this server as; there is no such sign-in
	// when it is empty. SubscriptionIssuer and SubscriptionAPI replace the service's addresses.
	SubscriptionClientID, SubscriptionIssuer, SubscriptionAPI string
	// ModelsFile is a JSON file that corrects the model catalogue.
	ModelsFile string
	// Workers is how many runs execute at once; 64 when zero.
	Workers int
	// MaxBody bounds a request's body in bytes; 32 MiB when zero.
	MaxBody int64
	// Limits are those of every account but the server owner's, unless LimitOwner is set.
	Limits     quota.Limits
	LimitOwner bool
	// SocketSubscriptions bounds the keys of one WebSocket, whoever's it is; 256 when zero.
	SocketSubscriptions int
	// VaultKey is where the key of the secrets is; <DataDir>/vault.key when nil.
	VaultKey vault.KeySource
	// TutorPace is the tutor's pause before each word; negative is none, zero 15 ms.
	TutorPace time.Duration
	// DrainTimeout bounds the wait for turns in progress when the server stops; 5 s when zero.
	DrainTimeout time.Duration
	// DrainDelay is how long a server that was told to stop goes on as before while it says that it is not ready, so that whoever
	// balances load has sent people elsewhere by then. None when zero.
	DrainDelay time.Duration
	// Environ is asked for provider keys at the first start; os.Getenv when nil.
	Environ func(string) string
	// Page answers what no transport does: the console. What nobody knows is "Not Found" when it is nil.
	Page http.Handler
	// HMServerURL is the hypermedia server that accounts of agents are published to, IPFSServerURL where capabilities are fetched.
	// Clients are told both; empty is none.
	HMServerURL, IPFSServerURL string
	// SearXNGURL is a SearXNG instance. SearchEngines are asked in order (search.Names); SearXNG alone when empty. SearchKeys and
	// SearchURLs are by engine.
	SearXNGURL             string
	SearchEngines          []string
	SearchKeys, SearchURLs map[string]string
	// CrawlerURL is a Crawl4AI service for pages that need a browser, and CrawlerToken its bearer token.
	CrawlerURL, CrawlerToken string
	// McpCommands are the programs that the server owner may run as MCP servers; none when empty.
	McpCommands []string
	// Executable is the path of a program that reads PDF files when it is started as pdftext.Argument says, and translates scripts when
	// script.Argument does: this one. No PDF is read
	// when it is empty.
	Executable string
	// Logger receives everything; discarded when nil.
	Logger *slog.Logger
	// Clock and IDs are seams for tests.
	Clock clock.Clock
	IDs   id.Source
	// CrashAt kills this process with SIGKILL at a named point, "name" or "name:n" for the n-th time (crash tests).
	CrashAt string
}

// Defaults.
const (
	DefaultListen  = "127.0.0.1:3050"
	DefaultDataDir = "./loam-data"
	defaultPace    = 15 * time.Millisecond
	defaultDrain   = 5 * time.Second
)

// defaults fills in what needs no check.
func (c *Config) defaults() {
	if c.Listen == "" {
		c.Listen = DefaultListen
	}
	if c.DataDir == "" {
		c.DataDir = DefaultDataDir
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Logger = slog.New(logctx.Handler(c.Logger.Handler()))
	if c.Clock == nil {
		c.Clock = clock.System{}
	}
	if c.IDs == nil {
		c.IDs = id.NewSource(c.Clock, nil)
	}
	if c.TutorPace == 0 {
		c.TutorPace = defaultPace
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = defaultDrain
	}
}

// complete fills in defaults and refuses what cannot work. The error says which setting is wrong and what to do.
func (c *Config) complete() error {
	c.defaults()
	loopback, err := isLoopback(c.Listen)
	if err != nil {
		return err
	}
	if c.PublicURL != "" {
		u, err := url.Parse(c.PublicURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("public URL %q: it must be an http or https address such as https://loam.example.org", c.PublicURL)
		}
	}
	if !loopback && c.PublicURL == "" {
		return fmt.Errorf("listen %s: other machines could reach this address, so the server needs to know its public URL (--public-url https://…); to stay on this machine listen on 127.0.0.1", c.Listen)
	}
	if err := c.checkAdmin(); err != nil {
		return err
	}
	switch c.Accounts {
	case "":
		c.Accounts = "invite"
		if loopback {
			c.Accounts = "open"
		}
	case "open", "invite":
	default:
		return fmt.Errorf("accounts %q: use open (any key may act) or invite (only known accounts)", c.Accounts)
	}
	return nil
}

// checkAdmin keeps what has no sign-in away from other machines.
func (c *Config) checkAdmin() error {
	if c.AdminListen == "" {
		return nil
	}
	loopback, err := isLoopback(c.AdminListen)
	switch {
	case err != nil:
		return fmt.Errorf("admin-%w", err)
	case !loopback && !c.AdminRemote:
		return fmt.Errorf("admin-listen %s: other machines could reach this address, and the admin listener has no sign-in: listen on 127.0.0.1, or allow it with --admin-remote when a firewall decides who gets there", c.AdminListen)
	}
	return nil
}

// isLoopback tells whether only this machine can reach a listening address.
func isLoopback(listen string) (bool, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false, fmt.Errorf("listen %q: it must be HOST:PORT, such as 127.0.0.1:3050", listen)
	}
	if strings.EqualFold(host, "localhost") {
		return true, nil
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback(), nil
}
