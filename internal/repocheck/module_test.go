package repocheck

import (
	"strings"
	"testing"
)

const goodMod = `module example.org/m

go 1.26.7

toolchain go1.27.3

require golang.org/x/net v0.62.0

require (
	modernc.org/libc v1.80.1 // indirect
	modernc.org/sqlite v1.62.0
)
`

func TestGoModRules(t *testing.T) {
	t.Parallel()
	edit := func(from, to string) string {
		if !strings.Contains(goodMod, from) {
			t.Fatalf("the sample has no %q", from)
		}
		return strings.Replace(goodMod, from, to, 1)
	}
	cases := []struct{ name, text, want string }{
		{"what the product needs", goodMod, ""},
		{"a newer x/net", edit("v0.62.0", "v0.100.1"), ""},
		{"an older x/net", edit("v0.62.0", "v0.9.0"), "golang.org/x/net v0.9.0 is older"},
		{"another libc", edit("v1.80.1", "v1.81.0"), "go get modernc.org/libc@v1.80.1"},
		{"another go line", edit("go 1.26.7", "go 1.25.0"), "go 1.25.0 with toolchain go1.27.3"},
		{"no toolchain", edit("toolchain go1.27.3", ""), "want go 1.26.7 with toolchain go1.27.3"},
		{"a replace", goodMod + "replace a => ../a\n", "replace a => ../a"},
		{"a block of replaces", goodMod + "replace (\n\ta => ../a\n)\n", "replace a => ../a"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found := CheckGoMod(test.text, "v1.80.1")
			if test.want == "" && len(found) != 0 {
				t.Fatalf("found %v, want nothing", found)
			}
			if test.want != "" && (len(found) != 1 || !strings.Contains(found[0].Text, test.want)) {
				t.Fatalf("found %v, want one that contains %q", found, test.want)
			}
		})
	}
}

func TestDependencies(t *testing.T) {
	t.Parallel()
	const code = "package p\nimport _ \"modernc.org/sqlite/vec\"\nimport _ \"fmt\"\n"
	const header = "| module | what for |\n|---|---|\n"
	tree := func(rows string) sample {
		return sample{"go.mod": goodMod, "internal/store/a.go": code, dependenciesDoc: header + rows}
	}
	runCases(t, []ruleCase{
		{"explained", checkDependencies, tree("| `modernc.org/sqlite` | storage |\n"), nil},
		{"not explained", checkDependencies, tree(""), []string{"no row for modernc.org/sqlite (imported at internal/store/a.go:2)"}},
		{"explained but not used", checkDependencies, tree("| `modernc.org/sqlite` | storage |\n| `golang.org/x/net` | x |\n"), []string{"golang.org/x/net explains a module that nothing imports"}},
	})
}

func TestPagePackages(t *testing.T) {
	t.Parallel()
	tree := func(section string) sample {
		return sample{
			"go.mod": goodMod, "console/package.json": `{"dependencies":{"react":"1.0.0","@scope/router":"2.0.0"}}`,
			dependenciesDoc: "# d\n\n" + pageSection + "\n\n| package | what for |\n|---|---|\n" + section + "\n## Tools\n\n| `left-alone` | x |\n",
		}
	}
	runCases(t, []ruleCase{
		{"explained", checkDependencies, tree("| `react` | the page |\n| `@scope/router` | addresses |\n"), nil},
		{"explained in one row", checkDependencies, tree("| `react`, `@scope/router` | the page |\n"), nil},
		{"not explained", checkDependencies, tree("| `react` | the page |\n"), []string{"no row for @scope/router (console/package.json)"}},
		{"explained but not used", checkDependencies, tree("| `react`, `@scope/router`, `vue` | the page |\n"), []string{"vue explains a package that the page does not use"}},
	})
}

func TestToolchain(t *testing.T) {
	t.Parallel()
	tree := func(makefile string) sample {
		return sample{"Makefile": makefile, ".ci/run": "export GOTOOLCHAIN=" + toolchainLine + "\n", "tools/go.mod": "toolchain " + toolchainLine + "\n"}
	}
	runCases(t, []ruleCase{
		{"one everywhere", checkToolchain, tree("x\nexport GOTOOLCHAIN := " + toolchainLine + "\n"), nil},
		{"another one", checkToolchain, tree("export GOTOOLCHAIN := go1.26.8\n"), []string{"Makefile: does not say"}},
	})
}
