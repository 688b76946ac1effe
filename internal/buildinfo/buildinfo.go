// Package buildinfo says which build of Loam this is.
//
// The values are set by the linker (`make build`, `make release`), never at run
// time, and never from version control stamping, so that a build from an
// archive and a build from a checkout behave alike. A plain `go build` leaves
// the defaults. The package is tier 0: it imports nothing of Loam, and every
// package may read it.
package buildinfo

import "strings"

// Set with -ldflags "-X github.com/loam-agents/loam/internal/buildinfo.Version=…".
// Nothing writes them after the program has started.
var (
	// Version is the release, such as "v0.3.0", or what `git describe` said,
	// such as "v0.3.0-14-gc39e02c"; "dev" in a build that was not told.
	Version = "dev"
	// Commit is the abbreviated hash of the commit the build was made from, with
	// "-dirty" when the checkout had changes; "unknown" when not told.
	Commit = "unknown"
	// Branch is the branch the build was made on; "unknown" when not told.
	Branch = "unknown"
	// Date is the commit's time in RFC 3339, UTC, so that building one commit
	// twice gives the same bytes; "unknown" when not told.
	Date = "unknown"
)

// String returns one line for people, such as "v0.3.0 (c39e02c, 2026-11-30T04:43:00Z)".
// Parts that the build was not told are left out; a plain `go build` gives "dev".
func String() string {
	var parts []string
	for _, part := range []string{Commit, Date} {
		if part != "unknown" && part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return Version
	}
	return Version + " (" + strings.Join(parts, ", ") + ")"
}
