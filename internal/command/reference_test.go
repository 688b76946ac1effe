package command

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/command/exitcode"
	"github.com/loam-agents/loam/internal/command/setting"
	"github.com/loam-agents/loam/internal/server/metrics"
)

var update = flag.Bool("update", false, "write the documents and golden files instead of comparing them")

// golden compares a text with a file, or writes the file with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is stale; run `go generate ./internal/command` (-file +now):\n%s", path, diff)
	}
}

func grammar(t *testing.T) *kong.Application {
	t.Helper()
	a := &app{out: os.Stdout, err: os.Stderr, lookup: func(string) (string, bool) { return "", false }}
	parser, err := a.parser(&commands{}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model
}

func TestReferenceDocumentsAreCurrent(t *testing.T) {
	t.Parallel()
	docs := filepath.Join("..", "..", "docs")
	golden(t, filepath.Join(docs, "configuration.md"), configuration(grammar(t)))
	golden(t, filepath.Join(docs, "exit-codes.md"), exitCodes())
	operations := filepath.Join(docs, "operations.md")
	golden(t, operations, withMetrics(t, operations))
}

const generated = "<!-- Written by `go generate ./internal/command`; change the tables there. -->\n\n"

// configuration is docs/configuration.md.
func configuration(app *kong.Application) string {
	var b strings.Builder
	b.WriteString("# Configuration\n\n" + generated)
	b.WriteString("`loam serve` needs no configuration. Everything below can be said in four ways; where two disagree, the one that stands\n" +
		"first wins:\n\n1. a flag: `--listen 127.0.0.1:4000`\n2. a variable: `LOAM_LISTEN=127.0.0.1:4000`\n" +
		"3. a variable of another server of the protocol (see below)\n4. a line of `loam.yaml` in the current folder, or of the file " +
		"that `--config` names: `listen: 127.0.0.1:4000`\n\nLists are separated by commas on the command line and in variables, `NAME=VALUE` pairs by\n" +
		"semicolons; in the file they are lists and mappings. A key of the file that is not listed here is an error. An empty variable\n" +
		"counts as absent.\n\n```yaml\ndata: /var/lib/loam\npublic-url: https://loam.example.org\negress-allow:\n  - 192.0.2.7:8080\n" +
		"provider-url:\n  openai: https://gateway.example.org/v1\n```\n\n")
	seen := map[string]bool{}
	section(&b, "For every command", "", app.Flags, seen)
	for _, name := range []string{"serve", "chat"} {
		for _, node := range app.Children {
			if node.Name == name {
				section(&b, map[string]string{"serve": "For the server", "chat": "For commands that talk to a server"}[name],
					map[string]string{
						"serve": "`serve` takes all of these, and `keys rotate-vault` those of the database and the vault. `doctor`, and a server that\n`loam chat` starts, take them from variables and the file.\n\n",
						"chat":  "",
					}[name], setting.Flags(node), seen)
			}
		}
	}
	b.WriteString("Commands that talk to a server act as its owner, whose key lies in the data folder. On a machine without the folder, `LOAM_URL` says where\n" +
		"the server is, and `LOAM_TOKEN`, a variable only, holds a token that `loam tokens create` printed; what its scopes leave out is refused.\n\n")
	b.WriteString("## Secrets\n\nOther users of a machine can read command lines, so a database URL with a password belongs into its variable or the\n" +
		"file. `LOAM_VAULT_KEY`, a variable only, holds the key of the secrets itself (`loam keys vault` prints a new one); it\n" +
		"excludes `vault-key-file` and `vault-key-command`. `LOAM_BACKUP_PASSPHRASE`, a variable only, holds the passphrase of `loam backup` and\n" +
		"`loam restore`. At the first start, a provider's key in its usual variable, such as\n" +
		"`ANTHROPIC_API_KEY`, is stored sealed and used for the first agent.\n\n")
	aliases(&b)
	return b.String()
}

func section(b *strings.Builder, title, text string, flags []*kong.Flag, seen map[string]bool) {
	fmt.Fprintf(b, "## %s\n\n%s| flag and key | variable | default | meaning |\n|---|---|---|---|\n", title, text)
	for _, f := range flags {
		if f.Hidden || len(f.Envs) == 0 || seen[f.Name] {
			continue
		}
		seen[f.Name] = true
		value := ""
		if f.HasDefault {
			value = "`" + f.Default + "`"
		}
		fmt.Fprintf(b, "| `%s` | `%s` | %s | %s |\n", f.Name, strings.Join(f.Envs, "`, `"), value, strings.ReplaceAll(f.Help, "|", "\\|"))
	}
	b.WriteString("\n")
}

func aliases(b *strings.Builder) {
	b.WriteString("## Variables of other servers\n\nA server that was configured for the agents protocol elsewhere starts without changes. Variables of features that this\n" +
		"version does not have are accepted and reported once at the start.\n\n| variable | means | note |\n|---|---|---|\n")
	for _, a := range setting.Aliases() {
		meaning := "not used by this version"
		if a.Flag != "" {
			meaning = "`" + a.Flag + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", a.Variable, meaning, a.Note)
	}
}

// exitCodes is docs/exit-codes.md.
func exitCodes() string {
	var b strings.Builder
	b.WriteString("# Exit codes\n\n" + generated + "Every command ends with one of these numbers. They do not change: a new reason gets a new number. The message on\n" +
		"standard error says more.\n\n| code | what happened | what to do |\n|---|---|---|\n")
	for _, e := range exitcode.Table() {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", e.Code, e.Meaning, e.Remedy)
	}
	return b.String()
}

// The table of metrics stands between these lines of docs/operations.md.
const (
	metricsBegin = "<!-- metrics: written by `go generate ./internal/command` from internal/server/metrics -->\n"
	metricsEnd   = "<!-- end of metrics -->\n"
)

// withMetrics is docs/operations.md with the present table of metrics.
func withMetrics(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), metricsBegin)
	_, after, ended := strings.Cut(rest, metricsEnd)
	if !found || !ended {
		t.Fatalf("%s has lost the lines between which the metrics stand", path)
	}
	m := metrics.New()
	m.Watch(metrics.Sources{})
	var b strings.Builder
	b.WriteString(before + metricsBegin + "\n| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, e := range m.Table() {
		labels := ""
		if len(e.Labels) > 0 {
			labels = "`" + strings.Join(e.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", e.Name, e.Kind, labels, e.Help)
	}
	return b.String() + "\n" + metricsEnd + after
}

// helps is what --help prints for the program and every command, the hidden ones left out.
func helps(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	var walk func(path []string, node *kong.Node)
	walk = func(path []string, node *kong.Node) {
		fmt.Fprintf(&b, "$ %s --help\n", strings.Join(append([]string{"loam"}, path...), " "))
		a := &app{out: &b, err: &b, lookup: func(string) (string, bool) { return "", false }}
		if _, exited, err := a.parse(append(slices.Clone(path), "--help")); !exited || err != nil {
			t.Errorf("help of %q: exited %v, %v", path, exited, err)
		}
		b.WriteString("\n")
		for _, child := range node.Children {
			if !child.Hidden {
				walk(append(slices.Clone(path), child.Name), child)
			}
		}
	}
	walk(nil, grammar(t).Node)
	return b.String()
}

func TestHelpIsAsReviewed(t *testing.T) {
	t.Parallel()
	golden(t, filepath.Join("testdata", "help.txt"), helps(t))
}

func TestEverySettingHasTheVariableOfItsName(t *testing.T) {
	t.Parallel()
	for _, f := range setting.Flags(grammar(t).Node) {
		if want := "LOAM_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")); f.Envs[0] != want {
			t.Errorf("--%s has the variable %s, want %s", f.Name, f.Envs[0], want)
		}
	}
}

func TestEveryAliasNamesASetting(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"": true}
	for _, f := range setting.Flags(grammar(t).Node) {
		known[f.Name] = true
	}
	for _, a := range setting.Aliases() {
		if !known[a.Flag] {
			t.Errorf("%s means --%s, which is no setting", a.Variable, a.Flag)
		}
	}
}
