package apart_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/apart"
)

var job = apart.Job{Argument: "apart-test", Memory: 512 << 20, CPU: time.Second, Wall: time.Minute}

// TestMain is the program that does the work as well: what it is sent says how it behaves.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == job.Argument {
		os.Exit(work())
	}
	os.Exit(m.Run())
}

func work() int {
	if job.Confine() != nil {
		return 2
	}
	in, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 3
	}
	switch string(in) {
	case "memory":
		var kept [][]byte
		for {
			kept = append(kept, make([]byte, 16<<20))
			for i := 0; i < len(kept[len(kept)-1]); i += 4096 {
				kept[len(kept)-1][i] = 1
			}
		}
	case "loop":
		for i := 0; ; i++ {
			_ = i
		}
	case "exit":
		return 1
	case "words":
		fmt.Print("no JSON")
		return 0
	}
	_ = json.NewEncoder(os.Stdout).Encode(map[string]string{"said": string(in), "home": os.Getenv("HOME")})
	return 0
}

func run(t *testing.T, ctx context.Context, in string) (answer struct{ Said, Home string }, err error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	err = job.Run(ctx, self, strings.NewReader(in), &answer)
	return answer, err
}

func TestTheAnswerComesBackFromAProcessWithoutThisOnesEnvironment(t *testing.T) {
	t.Parallel()
	answer, err := run(t, t.Context(), "hello")
	if err != nil || answer.Said != "hello" || answer.Home != "" {
		t.Errorf("got %+v, %v", answer, err)
	}
}

func TestTooMuchMemoryTooMuchTimeAndAnExitAreADeath(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"memory", "loop", "exit"} {
		if _, err := run(t, t.Context(), in); !errors.Is(err, apart.ErrDied) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestOtherFailuresAreNoDeath(t *testing.T) {
	t.Parallel()
	if _, err := run(t, t.Context(), "words"); err == nil || errors.Is(err, apart.ErrDied) {
		t.Errorf("an answer that is no JSON: %v", err)
	}
	if err := job.Run(t.Context(), "/no/such/program", strings.NewReader(""), nil); err == nil || errors.Is(err, apart.ErrDied) {
		t.Errorf("a program that is not there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(t, ctx, "loop"); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is over: %v", err)
	}
}
