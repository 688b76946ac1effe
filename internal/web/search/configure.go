package search

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
)

// Config is what an operator chose.
type Config struct {
	// Engines in the order in which they are asked; searxng alone when empty and there is an address of it.
	Engines []string
	// SearXNGURL is the address of the instance, without a slash at its end.
	SearXNGURL string
	// Keys and URLs are by engine. A URL replaces the service's own.
	Keys, URLs map[string]string
	// Client makes the operator class of egress for a configured address.
	Client func(baseURL string) (*http.Client, error)
	Clock  clock.Clock
}

// service is an engine that somebody else runs.
type service struct {
	url   string
	keyed bool
	make  func(c *http.Client, baseURL, key string, now clock.Clock) Engine
}

var services = map[string]service{
	"duckduckgo": {DuckDuckGoURL, false, func(c *http.Client, u, _ string, _ clock.Clock) Engine { return DuckDuckGo(c, u) }},
	"brave":      {BraveURL, true, func(c *http.Client, u, key string, _ clock.Clock) Engine { return Brave(c, u, key) }},
	"tavily":     {TavilyURL, true, func(c *http.Client, u, key string, _ clock.Clock) Engine { return Tavily(c, u, key) }},
	"exa":        {ExaURL, true, Exa},
}

// Names are the engines that a configuration may name.
func Names() []string {
	return append([]string{"searxng"}, slices.Sorted(maps.Keys(services))...)
}

// Configure makes a Searcher. Errors say which setting is wrong: an engine that nobody knows, one without its key or address, a key
// that no engine uses.
func Configure(c Config) (*Searcher, error) {
	names := c.Engines
	if len(names) == 0 && c.SearXNGURL != "" {
		names = []string{"searxng"}
	}
	for _, given := range []map[string]string{c.Keys, c.URLs} {
		for name := range given {
			if !slices.Contains(names, name) {
				return nil, fault.Invalid("search engine %q has a key or an address but is not among --search-engines", name)
			}
		}
	}
	var engines []Engine
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, fault.Invalid("--search-engines names %s twice", name)
		}
		e, err := c.engine(name)
		if err != nil {
			return nil, err
		}
		engines = append(engines, e)
	}
	return New(engines...), nil
}

func (c *Config) engine(name string) (Engine, error) {
	if name == "searxng" {
		if c.SearXNGURL == "" {
			return nil, fault.Invalid("--search-engines names searxng, but --searxng-url is not set")
		}
		client, err := c.Client(c.SearXNGURL)
		if err != nil {
			return nil, err
		}
		return SearXNG(client, c.SearXNGURL), nil
	}
	s, ok := services[name]
	switch {
	case !ok:
		return nil, fault.Invalid("--search-engines names %q; known are %s", name, strings.Join(Names(), ", "))
	case s.keyed && c.Keys[name] == "":
		return nil, fault.Invalid("search engine %s needs a key: --search-key %s=…", name, name)
	}
	address := s.url
	if given := c.URLs[name]; given != "" {
		address = strings.TrimRight(given, "/")
	}
	client, err := c.Client(address)
	if err != nil {
		return nil, err
	}
	return s.make(client, address, c.Keys[name], c.Clock), nil
}
