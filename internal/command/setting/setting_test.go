package setting_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/loam-agents/loam/internal/command/setting"
)

// program stands for the real command line: two settings of each shape, and one flag that is no setting.
type program struct {
	Listen       string            `env:"LOAM_LISTEN" default:"127.0.0.1:3050"`
	Data         string            `env:"LOAM_DATA" default:"./loam-data"`
	DatabaseFile string            `env:"LOAM_DATABASE_FILE"`
	EgressAllow  []string          `env:"LOAM_EGRESS_ALLOW"`
	ProviderURL  map[string]string `env:"LOAM_PROVIDER_URL"`
	Workers      int               `env:"LOAM_WORKERS" default:"64"`
	JSON         bool
}

// parse reads settings from all five places.
func parse(t *testing.T, args []string, env map[string]string, file string) (program, error) {
	t.Helper()
	var p program
	parser, err := kong.New(&p, kong.Exit(func(int) { t.Error("the parser wanted to exit") }))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := setting.Parse("loam.yaml", []byte(file))
	if err != nil {
		return p, err
	}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	if err := kong.Resolvers(setting.NewResolver(lookup, parsed)).Apply(parser); err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(args)
	return p, err
}

func TestTheCommandLineWinsThenVariableThenAliasThenFileThenDefault(t *testing.T) {
	t.Parallel()
	args := []string{"--data=flag"}
	env := map[string]string{"LOAM_DATA": "variable", "SEED_AGENTS_DATA_DIR": "alias"}
	file := "data: file"
	for _, want := range []string{"flag", "variable", "alias", "file", "./loam-data"} {
		got, err := parse(t, args, env, file)
		if err != nil {
			t.Fatal(err)
		}
		if got.Data != want {
			t.Errorf("data is %q, want %q", got.Data, want)
		}
		switch want {
		case "flag":
			args = nil
		case "variable":
			delete(env, "LOAM_DATA")
		case "alias":
			delete(env, "SEED_AGENTS_DATA_DIR")
		case "file":
			file = ""
		}
	}
}

func TestAnEmptyVariableCountsAsAbsent(t *testing.T) {
	t.Parallel()
	got, err := parse(t, nil, map[string]string{"LOAM_DATA": "", "SEED_AGENTS_DATA_DIR": " "}, "data: file")
	if err != nil || got.Data != "file" {
		t.Errorf("data is %q, %v", got.Data, err)
	}
}

func TestAFileHoldsNumbersListsAndMappings(t *testing.T) {
	t.Parallel()
	got, err := parse(t, nil, nil, `
# a comment
workers: 8
egress-allow: [localhost:1, "localhost:2"]
provider-url:
  openai: http://localhost:4000/v1
  google: http://localhost:4001
`)
	if err != nil {
		t.Fatal(err)
	}
	if got.Workers != 8 || strings.Join(got.EgressAllow, " ") != "localhost:1 localhost:2" ||
		got.ProviderURL["openai"] != "http://localhost:4000/v1" || got.ProviderURL["google"] != "http://localhost:4001" {
		t.Errorf("parsed %+v", got)
	}
}

func TestAWrongFileIsAnErrorThatNamesThePlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":       {"data: x\nlisen: y", `loam.yaml:2: unknown key "lisen"`},
		"a flag no setting": {"json: true", `unknown key "json"`},
		"twice":             {"data: x\ndata: y", "twice"},
		"no value":          {"data:", "loam.yaml:1: data: the value is missing"},
		"a list as a whole": {"- data", "loam.yaml:1"},
		"nested too deep":   {"provider-url:\n  openai: [x]", "only text and numbers"},
		"comma in a list":   {`egress-allow: ["a,b"]`, "must not contain"},
		"no YAML":           {"data: [", "loam.yaml"},
		"not a number":      {"workers: many", "workers"},
		"an alias of YAML":  {"data: &x y\nlisten: *x", "references"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, nil, nil, c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q in it", err, c.want)
			}
		})
	}
}

func TestOnlyANamedFileHasToExist(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := setting.Load(""); err != nil {
		t.Errorf("without %s: %v", setting.DefaultFile, err)
	}
	if _, err := setting.Load("other.yaml"); err == nil {
		t.Error("a file that was named and is absent is no error")
	}
	if err := os.WriteFile(setting.DefaultFile, []byte("a: b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := setting.Load(filepath.Join(".", setting.DefaultFile)); err != nil {
		t.Error(err)
	}
}

func TestHostAndPortOfAliasesMakeTheAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ host, port, want string }{
		{"", "", "127.0.0.1:3050"},
		{"0.0.0.0", "", "0.0.0.0:3050"},
		{"", "4000", "127.0.0.1:4000"},
		{"::1", "4000", "[::1]:4000"},
		{"[::1]", "4000", "[::1]:4000"},
	} {
		got, err := parse(t, nil, map[string]string{"SEED_AGENTS_HTTP_HOSTNAME": c.host, "SEED_AGENTS_HTTP_PORT": c.port}, "")
		if err != nil || got.Listen != c.want {
			t.Errorf("host %q and port %q give %q, %v; want %q", c.host, c.port, got.Listen, err, c.want)
		}
	}
}

func TestTheAliasOfTheDatabaseIsAFile(t *testing.T) {
	t.Parallel()
	got, err := parse(t, nil, map[string]string{"SEED_AGENTS_DB_PATH": "x/agents.sqlite"}, "")
	if err != nil || got.DatabaseFile != "x/agents.sqlite" {
		t.Errorf("database file is %q, %v", got.DatabaseFile, err)
	}
}

func TestFeaturesThatAreAbsentAreReportedOnceAndAWrongSandboxIsAnError(t *testing.T) {
	t.Parallel()
	notes, err := setting.CheckAliases([]string{
		"PATH=x", "SEED_AGENTS_SUBSCRIPTION_AUTH=1", "SEED_AGENTS_DB_PATH=y", "SEED_AGENTS_EXEC_BACKEND=microsandbox",
		"SEED_AGENTS_EXEC_CPUS=1", "SEED_AGENTS_ACTIVITY_POLL_INTERVAL_MS=1", "SEED_AGENTS_NEW=1",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"SEED_AGENTS_ACTIVITY_POLL_INTERVAL_MS is not used by this version",
		"SEED_AGENTS_EXEC_BACKEND is not used by this version",
		"SEED_AGENTS_EXEC_CPUS is not used by this version",
		"SEED_AGENTS_NEW is unknown and was ignored",
		"SEED_AGENTS_SUBSCRIPTION_AUTH is not used by this version",
	}
	if strings.Join(notes, "\n") != strings.Join(want, "\n") {
		t.Errorf("notes:\n%s", strings.Join(notes, "\n"))
	}
	for value, fine := range map[string]bool{"": true, "off": true, "none": true, "microsandbox": true, "docker": false} {
		_, err := setting.CheckAliases([]string{"SEED_AGENTS_EXEC_BACKEND=" + value})
		if (err == nil) != fine {
			t.Errorf("backend %q: %v", value, err)
		}
	}
}

func TestServersAreNamedByAbsoluteAddresses(t *testing.T) {
	t.Parallel()
	if got, err := setting.CheckURL("x", " https://example.org// "); err != nil || got != "https://example.org" {
		t.Errorf("CheckURL() = %q, %v", got, err)
	}
	if _, err := setting.CheckURL("x", "example.org"); err == nil {
		t.Error("an address without a scheme was accepted")
	}
}

func FuzzParseNeverPanicsAndErrorsNameTheFile(f *testing.F) {
	for _, seed := range []string{"", "a: b", "a: [1, 2]", "a: {b: c}", "? x\n: y", "&a [*a]", "a: !!binary x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := setting.Parse("loam.yaml", text); err != nil && !strings.Contains(err.Error(), "loam.yaml") {
			t.Errorf("error %v does not name the file", err)
		}
	})
}
