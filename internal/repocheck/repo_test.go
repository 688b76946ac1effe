package repocheck_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/repocheck"
)

const root = "../.."

func TestTheRepositoryKeepsItsRules(t *testing.T) {
	t.Parallel()
	tree, err := repocheck.Load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range repocheck.Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			t.Parallel()
			for _, finding := range rule.Check(tree) {
				t.Error(finding)
			}
		})
	}
	for _, long := range repocheck.LongPlaces(tree) {
		t.Log(long)
	}
}

func TestGoModStatesWhatTheProductNeeds(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range repocheck.CheckGoMod(string(text), libcOfSQLite(t)) {
		t.Error(finding)
	}
}

// libcOfSQLite asks the module cache which libc the SQLite in use was made with.
func libcOfSQLite(t *testing.T) string {
	t.Helper()
	list := exec.Command("go", "list", "-m", "-f", "{{.GoMod}}", "modernc.org/sqlite")
	list.Dir = root
	path, err := list.Output()
	if err != nil {
		t.Fatalf("go list -m modernc.org/sqlite: %v", err)
	}
	text, err := os.ReadFile(strings.TrimSpace(string(path)))
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`modernc\.org/libc (v\S+)`).FindSubmatch(text)
	if match == nil {
		t.Fatalf("%s requires no modernc.org/libc", path)
	}
	return string(match[1])
}
