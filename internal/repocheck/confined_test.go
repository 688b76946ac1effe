package repocheck

import "testing"

func TestConfinedLibraries(t *testing.T) {
	t.Parallel()
	const driver, sandbox = "github.com/jackc/pgx/v5/pgxpool", "gvisor.dev/gvisor/runsc/cli"
	runCases(t, []ruleCase{
		{"the room itself", checkConfined, sample{"internal/store/postgres/a.go": goFile(driver)}, nil},
		{"another room", checkConfined, sample{"internal/runs/a.go": goFile(driver)}, []string{"internal/runs/a.go:2: only internal/store imports github.com/jackc/pgx/v5"}},
		{"a test may look at the database", checkConfined, sample{"internal/runs/a_test.go": goFile(driver)}, nil},
		{"test support too", checkConfined, sample{"internal/crashtest/a.go": goFile(driver)}, nil},
		{"no test carries the sandbox", checkConfined, sample{"internal/sandbox/a_test.go": goFile(sandbox)}, []string{"only cmd/loam imports gvisor.dev/gvisor"}},
		{"the command does", checkConfined, sample{"cmd/loam/gvisor/a.go": goFile(sandbox)}, nil},
		{"a name that only begins alike", checkConfined, sample{"internal/runs/a.go": goFile("modernc.org/sqlite3")}, nil},
	})
}
