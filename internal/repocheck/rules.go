package repocheck

import (
	"cmp"
	"fmt"
	"slices"
)

// Finding is one violation.
type Finding struct {
	// Where is "path:line", or a path alone.
	Where string
	// Text says what is wrong and what to do.
	Text string
}

// String gives the finding as "where: text".
func (f Finding) String() string { return f.Where + ": " + f.Text }

// Rule is one invariant of the repository.
type Rule struct {
	// Name reads as the statement that holds when the rule finds nothing.
	Name string
	// Check returns the violations in a tree, in no particular order.
	Check func(*Tree) []Finding
}

// Rules lists every invariant that can be decided from the files alone, in the
// order of docs and reports.
func Rules() []Rule {
	return []Rule{
		{"packages import lower tiers only", checkTiers},
		{"packages are documented", checkPackageComments},
		{"exported names are documented", checkExportedDocs},
		{"files and functions stay short", checkSizes},
		{"package names say what lives there", checkPackageNames},
		{"only egress and client open the way out", checkHTTPClients},
		{"confined libraries stay in their room", checkConfined},
		{"tests are not skipped", checkSkips},
		{"nothing sleeps", checkSleeps},
		{"no init functions", checkInits},
		{"no registry hosts and machine paths", checkHosts},
		{"links in documents resolve", checkLinks},
		{"the changelog has a place for the next change", checkChangelog},
		{"dependencies are explained", checkDependencies},
		{"one toolchain builds everything", checkToolchain},
	}
}

func sorted(findings []Finding) []Finding {
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Where, b.Where), cmp.Compare(a.Text, b.Text))
	})
	return findings
}

func findingf(where, format string, args ...any) Finding {
	return Finding{Where: where, Text: fmt.Sprintf(format, args...)}
}
