package server

import (
	"github.com/loam-agents/loam/internal/web"
	"github.com/loam-agents/loam/internal/web/pdftext"
	"github.com/loam-agents/loam/internal/web/search"
)

// outside is the way to the web.
type outside struct {
	reader *web.Reader
	search *search.Searcher
	// crawler tells whether a crawler service is configured.
	crawler bool
}

// openOutside makes the parts that reach the web. An error says which setting is wrong.
func (s *Server) openOutside() error {
	cfg := &s.cfg
	o := web.Options{Client: s.egress.Agent(), PDF: pdftext.Program(cfg.Executable), Clock: cfg.Clock}
	if cfg.CrawlerURL != "" {
		client, err := s.egress.Operator(cfg.CrawlerURL)
		if err != nil {
			return err
		}
		o.Crawler, s.outside.crawler = web.NewCrawler(client, cfg.CrawlerURL, cfg.CrawlerToken), true
	}
	s.outside.reader = web.NewReader(o)
	var err error
	s.outside.search, err = search.Configure(search.Config{
		Engines: cfg.SearchEngines, SearXNGURL: cfg.SearXNGURL, Keys: cfg.SearchKeys, URLs: cfg.SearchURLs, Client: s.egress.Operator, Clock: cfg.Clock,
	})
	return err
}
