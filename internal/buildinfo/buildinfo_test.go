package buildinfo_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/buildinfo"
)

func TestAPlainBuildSaysDev(t *testing.T) {
	t.Parallel()
	if got := buildinfo.String(); got != "dev" {
		t.Fatalf("String() = %q, want %q: nothing may set the values at run time", got, "dev")
	}
}

func TestTheLinkerSetsEveryValue(t *testing.T) {
	t.Parallel()
	const pkg = "github.com/loam-agents/loam/internal/buildinfo."
	flags := []string{
		"-X " + pkg + "Version=v1.2.3",
		"-X " + pkg + "Commit=abc1234",
		"-X " + pkg + "Branch=main",
		"-X " + pkg + "Date=2026-11-30T00:00:00Z",
	}
	binary := filepath.Join(t.TempDir(), "show")
	build := exec.Command("go", "build", "-o", binary, "-ldflags", strings.Join(flags, " "), "./testdata/show")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	out, err := exec.Command(binary).Output()
	if err != nil {
		t.Fatalf("running: %v", err)
	}
	const want = "v1.2.3 (abc1234, 2026-11-30T00:00:00Z) main\n"
	if string(out) != want {
		t.Fatalf("a linked build says %q, want %q", out, want)
	}
}
