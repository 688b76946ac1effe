// Package doctor looks at a Loam on this machine and says what is wrong with it, what that means and how to mend it.
//
// It promises to leave the data as it is, with one exception: a database of an older version is migrated when it is opened,
// as `loam serve` would do. While a server runs, it holds the data; then doctor asks the server and leaves out what only the
// database could tell. The package belongs to the room internal/command (tier 8); it calls internal/server and client.
package doctor

import (
	"context"
	"strings"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/server"
)

// Level is how bad a finding is.
type Level string

// The levels, from good to bad. Only Fail makes `loam doctor` fail.
const (
	OK   Level = "ok"
	Warn Level = "warn"
	Fail Level = "fail"
)

// Finding is the result of one check.
type Finding struct {
	// Check names what was looked at, such as "data folder". The names are stable.
	Check string `json:"check"`
	// Level is the verdict.
	Level Level `json:"level"`
	// Text says what was found and what that means.
	Text string `json:"text"`
	// Fix says what to do; empty when there is nothing to do.
	Fix string `json:"fix,omitempty"`
}

// Options are what to look at.
type Options struct {
	// Config is the configuration that `loam serve` would have.
	Config server.Config
	// Client asks a server that runs on the data; nil when none is known.
	Client *client.Client
	// URL is the address that Client calls, for messages.
	URL string
	// Timeout bounds each question to a server or provider; 5 s when zero.
	Timeout time.Duration
	// Now tells the time; the machine's clock when nil.
	Now func() time.Time
}

// Run makes every check that the state of things permits and returns the findings in a fixed order.
func Run(ctx context.Context, o Options) []Finding {
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	if o.Now == nil {
		o.Now = clock.System{}.Now
	}
	r := &report{options: o}
	r.folder()
	r.ownerKey()
	r.vaultKey()
	r.disk()
	r.backup()
	if r.running(ctx) {
		r.adminRule()
		r.remoteProviders(ctx)
		return r.findings
	}
	r.port()
	r.admin()
	r.database(ctx)
	return r.findings
}

// Failed tells whether any finding is a failure.
func Failed(findings []Finding) bool {
	for _, f := range findings {
		if f.Level == Fail {
			return true
		}
	}
	return false
}

// report collects findings.
type report struct {
	options  Options
	findings []Finding
}

// sentence ends a text with a full stop.
func sentence(text string) string { return strings.TrimRight(text, ". ") + "." }

func (r *report) ok(check, text string) { r.add(check, OK, text, "") }

func (r *report) warn(check, text, fix string) { r.add(check, Warn, text, fix) }

func (r *report) fail(check, text, fix string) { r.add(check, Fail, text, fix) }

func (r *report) add(check string, level Level, text, fix string) {
	r.findings = append(r.findings, Finding{check, level, text, fix})
}
