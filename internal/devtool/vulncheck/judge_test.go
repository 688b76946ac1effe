package main

import (
	"strings"
	"testing"
)

const stream = `
{"config": {"scanner_name": "govulncheck"}}
{"osv": {"id": "GO-2026-0001", "summary": "Parser never ends"}}
{"osv": {"id": "GO-2026-0002", "summary": "Only present"}}
{"finding": {"osv": "GO-2026-0001", "fixed_version": "v1.2.4", "trace": [{"module": "example.org/m", "version": "v1.2.3"}]}}
{"finding": {"osv": "GO-2026-0002", "trace": [{"module": "example.org/n", "version": "v1.0.0", "package": "example.org/n"}]}}
{"finding": {"osv": "GO-2026-0001", "fixed_version": "v1.2.4", "trace": [
  {"module": "example.org/m", "version": "v1.2.3", "package": "example.org/m", "function": "Parse", "receiver": "*Reader"},
  {"module": "loam", "package": "loam/wire", "function": "Decode"}]}}
`

func TestOnlyReachedVulnerabilitiesFail(t *testing.T) {
	t.Parallel()
	reached, err := parseFindings(strings.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	problems := judge(reached, nil)
	if len(problems) != 1 {
		t.Fatalf("problems = %q, want one", problems)
	}
	for _, part := range []string{
		"GO-2026-0001 in example.org/m@v1.2.3", "repaired in v1.2.4", "Parser never ends",
		"loam/wire.Decode\n  → example.org/m.(*Reader).Parse",
	} {
		if !strings.Contains(problems[0], part) {
			t.Errorf("the finding does not say %q:\n%s", part, problems[0])
		}
	}
}

func TestAnAcceptedFindingPassesAndAStaleOneFails(t *testing.T) {
	t.Parallel()
	reached := map[string]finding{"GO-2026-0001": {id: "GO-2026-0001"}}
	if problems := judge(reached, map[string]string{"GO-2026-0001": "input is ours"}); len(problems) != 0 {
		t.Errorf("an accepted finding fails: %q", problems)
	}
	problems := judge(nil, map[string]string{"GO-2026-0001": "input is ours"})
	if len(problems) != 1 || !strings.Contains(problems[0], "remove the entry") {
		t.Errorf("a stale entry gives %q", problems)
	}
}

func TestAcceptingNeedsAReason(t *testing.T) {
	t.Parallel()
	allowed, err := parseAllowed("# accepted findings\n\nGO-2026-0001 the input is ours # until v2\n")
	if err != nil || allowed["GO-2026-0001"] != "the input is ours" {
		t.Errorf("parseAllowed = %v, %v", allowed, err)
	}
	if _, err := parseAllowed("GO-2026-0001 # later\n"); err == nil || !strings.Contains(err.Error(), "no reason") {
		t.Errorf("an entry without a reason gives %v", err)
	}
}

func TestABrokenAnswerIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := parseFindings(strings.NewReader(`{"finding": `)); err == nil {
		t.Error("a truncated stream is taken for a clean one")
	}
}
