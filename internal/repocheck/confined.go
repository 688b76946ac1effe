package repocheck

import "strings"

// confined libraries are heavy or have to be held in one pair of hands; only
// the named room imports them. Test support may, and so may tests, except where
// always is set.
var confined = []struct {
	library, room, reason string
	always                bool
}{
	{"modernc.org/sqlite", "internal/store", "SQL goes through store.Store, which owns the writer and its guarantees", false},
	{"github.com/jackc/pgx/v5", "internal/store", "SQL goes through store.Store, which owns the pool and its retries", false},
	{"github.com/tink-crypto/tink-go/v2", "internal/vault", "secrets are sealed and opened in one place", false},
	{"gvisor.dev/gvisor", "cmd/loam", "it would make every build and race test heavy; hand the backend to internal/sandbox through an interface", true},
}

// checkConfined keeps such libraries where they belong.
func checkConfined(tree *Tree) []Finding {
	var findings []Finding
	for _, file := range tree.GoFiles {
		home, _ := roomOf(file.Dir)
		for _, spec := range file.imports() {
			for _, c := range confined {
				if !within(spec.path, c.library) || within(file.Dir, c.room) {
					continue
				}
				if exempt := file.Test || home.kind == support; exempt && !c.always {
					continue
				}
				findings = append(findings, findingf(tree.at(spec.pos), "only %s imports %s: %s", c.room, c.library, c.reason))
			}
		}
	}
	return sorted(findings)
}

// within says whether a slash-separated path is the folder or lies beneath it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}
