package matrix_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/crashtest/matrix"
)

//go:generate go test -run TestTheDocumentOfReliabilityIsCurrent -update .

var update = flag.Bool("update", false, "write docs/reliability.md instead of comparing it")

func TestTheDocumentOfReliabilityIsCurrent(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "docs", "reliability.md")
	if *update {
		if err := os.WriteFile(path, []byte(matrix.Document()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), matrix.Document()); diff != "" {
		t.Errorf("docs/reliability.md is stale; run `go generate ./internal/crashtest/matrix` (-file +now):\n%s", diff)
	}
}

func TestEveryCaseBelongsToAWorkAndHasItsTimes(t *testing.T) {
	t.Parallel()
	known := map[matrix.Work]int{}
	for _, w := range matrix.Works {
		if len(w.Checks) == 0 || w.What == "" {
			t.Errorf("nothing is said of %s", w.Work)
		}
		known[w.Work] = 0
	}
	seen := map[string]bool{}
	for _, c := range matrix.Cases {
		if _, ok := known[c.Work]; !ok {
			t.Errorf("%s is killed in %q, which is no work", c.Point, c.Work)
		}
		known[c.Work]++
		if key := c.Point + " " + string(c.Work); seen[key] || c.Moment == "" || len(c.Times) == 0 || c.CI > len(c.Times) {
			t.Errorf("case %s: %+v", key, c)
		} else {
			seen[key] = true
		}
	}
	for w, n := range known {
		if n == 0 {
			t.Errorf("%s is never killed", w)
		}
	}
	if n := matrix.Named(false) + matrix.RandomInCI; n < 100 {
		t.Errorf("CI kills %d times, want 100", n)
	}
	if n := matrix.Named(true) + matrix.RandomInFull; n < 2000 {
		t.Errorf("in full there are %d kills, want 2000", n)
	}
}
