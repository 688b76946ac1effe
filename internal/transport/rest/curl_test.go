package rest_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
)

// block is a fenced piece of a Markdown page.
type block struct{ language, text string }

func blocks(page string) []block {
	var out []block
	for _, m := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		out = append(out, block{m[1], m[2]})
	}
	return out
}

// TestTheWorkedCallsOfThePageWork runs the commands of docs/curl.md in one shell, one after the other, and compares what they print
// with what the page shows; "…" stands for anything.
func TestTheWorkedCallsOfThePageWork(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		raw, err := os.ReadFile("../../../docs/curl.md")
		if err != nil {
			t.Fatal(err)
		}
		const mark = "-- block --\n"
		var script strings.Builder
		var shown []string
		for _, b := range blocks(string(raw)) {
			switch b.language {
			case "sh":
				script.WriteString("echo '" + strings.TrimSpace(mark) + "'\n" + b.text)
				shown = append(shown, "")
			case "output":
				shown[len(shown)-1] += b.text
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-eu")
		// What the script leaves behind in the background must not hold the test.
		cmd.WaitDelay = time.Second
		cmd.Stdin = strings.NewReader(script.String())
		cmd.Env = append(os.Environ(), "LOAM="+h.URL, "TOKEN="+h.Token(), "TMPDIR="+t.TempDir())
		var said, errors bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &errors
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v (curl has to be there)\n%s\n%s", err, said.String(), errors.String())
		}
		answers := strings.Split(said.String(), mark)[1:]
		if len(answers) != len(shown) {
			t.Fatalf("%d blocks ran, the page has %d", len(answers), len(shown))
		}
		for i, want := range shown {
			for line := range strings.Lines(want) {
				pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSuffix(line, "\n")), "…", ".*")
				if !regexp.MustCompile("(?m)^" + pattern).MatchString(answers[i]) {
					t.Errorf("the page shows %s\nit says %s", line, answers[i])
				}
			}
		}
	})
}
