package repocheck

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// sample is a tree written inline: path to content.
type sample map[string]string

func (s sample) load(t *testing.T) *Tree {
	t.Helper()
	files := fstest.MapFS{}
	for name, text := range s {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	tree, err := Load(files)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// ruleCase says which findings a rule has in a sample: each entry of want is a
// part of one finding, in order.
type ruleCase struct {
	name  string
	check func(*Tree) []Finding
	files sample
	want  []string
}

func runCases(t *testing.T, cases []ruleCase) {
	t.Helper()
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found := test.check(test.files.load(t))
			if len(found) != len(test.want) {
				t.Fatalf("found %d violations, want %d:\n%v", len(found), len(test.want), found)
			}
			for i, want := range test.want {
				if !strings.Contains(found[i].String(), want) {
					t.Errorf("finding %d is\n%s\nwant it to contain %q", i, found[i], want)
				}
			}
		})
	}
}

func goFile(imports ...string) string {
	text := "package p\n"
	for _, path := range imports {
		text += fmt.Sprintf("import _ %q\n", path)
	}
	return text
}

func TestTiers(t *testing.T) {
	t.Parallel()
	runCases(t, []ruleCase{
		{"a lower tier may be imported", checkTiers, sample{"internal/runs/a.go": goFile(Module+"/internal/store", Module+"/wire")}, nil},
		{"a room's own packages may be imported", checkTiers, sample{"internal/store/sqlite/a.go": goFile(Module + "/internal/store")}, nil},
		{"a sibling may not", checkTiers, sample{"internal/runs/a.go": goFile(Module + "/internal/agent")}, []string{"internal/runs/a.go:2: internal/runs imports internal/agent: both stand in the same tier"}},
		{"in tier 0 a sibling may", checkTiers, sample{"internal/id/a.go": goFile(Module + "/internal/clock")}, nil},
		{"a higher tier may not", checkTiers, sample{"internal/store/a.go": goFile(Module + "/internal/runs")}, []string{"a lower tier may not know a higher one"}},
		{"a test may import what it drives", checkTiers, sample{"internal/store/a_test.go": goFile(Module + "/internal/runs")}, nil},
		{"an unknown package is told what to do", checkTiers, sample{"internal/novel/a.go": goFile()}, []string{"internal/novel: the package stands in no tier: add its folder to rooms"}},
		{"an import of an unknown package too", checkTiers, sample{"cmd/loam/a.go": goFile(Module + "/internal/novel")}, []string{"stands in no tier"}},
		{"a public package stays free of internal ones", checkTiers, sample{"client/a.go": goFile(Module+"/internal/clock", Module+"/wire")}, []string{"a public package imports public packages only"}},
		{"the product does not import test support", checkTiers, sample{"internal/server/a.go": goFile(Module + "/internal/store/storetest")}, []string{"for tests and development only"}},
		{"the product does not import tooling", checkTiers, sample{"cmd/loam/a.go": goFile(Module + "/internal/repocheck")}, []string{"for tests and development only"}},
		{"test support imports anything", checkTiers, sample{"internal/crashtest/a.go": goFile(Module+"/internal/server", Module+"/internal/pgtest")}, nil},
		{"commands stand on the composition root", checkTiers, sample{"cmd/loam/a.go": goFile(Module + "/internal/server")}, nil},
	})
}

func TestEveryRoomStandsInTheTableOnce(t *testing.T) {
	t.Parallel()
	var seen []string
	for _, r := range rooms {
		if slices.Contains(seen, r.path) {
			t.Errorf("%s stands in the table twice", r.path)
		}
		seen = append(seen, r.path)
	}
}

func TestPackageComments(t *testing.T) {
	t.Parallel()
	const good = "// Package p keeps one thing, promises another and calls nobody.\npackage p\n"
	runCases(t, []ruleCase{
		{"one comment is right", checkPackageComments, sample{"p/a.go": good, "p/b.go": "package p\n"}, nil},
		{"none is not", checkPackageComments, sample{"p/a.go": "package p\n"}, []string{"p: no package comment"}},
		{"two are not", checkPackageComments, sample{"p/a.go": good, "p/b.go": good}, []string{"more than one"}},
		{"a name alone is not", checkPackageComments, sample{"p/a.go": "// Package p is p.\npackage p\n"}, []string{"too short"}},
		{"a folder of tests needs none", checkPackageComments, sample{"p/a_test.go": "package p\n"}, nil},
	})
}

func TestExportedDocs(t *testing.T) {
	t.Parallel()
	bad := []string{
		"type T struct{}", "func F() {}", "var V int", "const C = 1", "const (\n\tA = 1\n)", "type (\n\tT int\n)",
		"// T is.\ntype T int\nfunc (T) M() {}", "// T is.\ntype T[K any] struct{}\nfunc (*T[K]) M() {}",
		"// I is.\ntype I interface {\n\tM()\n}",
	}
	for _, source := range bad {
		runCases(t, []ruleCase{{source, checkExportedDocs, sample{"p/a.go": "package p\n" + source + "\n"}, []string{"is exported without a comment"}}})
	}
	good := []string{
		"// T is.\ntype T struct{ Field int }", "type t struct{}\nfunc (t) M() {}", "// Kinds of things.\nconst (\n\tA = 1\n\tB = 2\n)",
		"var V int // V counts.", "type (\n\t// T is.\n\tT int\n)", "// I is.\ntype I interface {\n\t// M does.\n\tM()\n\tfmt.Stringer\n}",
	}
	for _, source := range good {
		runCases(t, []ruleCase{{source, checkExportedDocs, sample{"p/a.go": "package p\n" + source + "\n"}, nil}})
	}
	runCases(t, []ruleCase{
		{"tests are exempt", checkExportedDocs, sample{"p/a_test.go": "package p\nfunc F() {}\n"}, nil},
		{"generated code is exempt", checkExportedDocs, sample{"p/a.go": "// Code generated by x. DO NOT EDIT.\n\npackage p\nfunc F() {}\n"}, nil},
		{"testdata is exempt", checkExportedDocs, sample{"p/testdata/a.go": "package p\nfunc F() {}\n"}, nil},
	})
}

func TestSizes(t *testing.T) {
	t.Parallel()
	function := func(lines int) string {
		return "package p\nfunc f() {\n" + strings.Repeat("\tf()\n", lines-2) + "}\n"
	}
	file := func(lines int) string { return "package p\n" + strings.Repeat("//\n", lines-1) }
	runCases(t, []ruleCase{
		{"a function of 100 lines stays", checkSizes, sample{"p/a.go": function(100)}, nil},
		{"a function of 101 lines does not", checkSizes, sample{"p/a.go": function(101)}, []string{"p/a.go:2: f has 101 lines"}},
		{"nor does it in a test", checkSizes, sample{"p/a_test.go": function(101)}, []string{"f has 101 lines"}},
		{"a file of 800 lines stays", checkSizes, sample{"p/a.go": file(800)}, nil},
		{"a file of 801 lines does not", checkSizes, sample{"p/a.go": file(801)}, []string{"p/a.go: 801 lines"}},
		{"generated code is exempt", checkSizes, sample{"p/a.go": "// Code generated by x. DO NOT EDIT.\n\n" + file(801)}, nil},
		{"long places are reported", LongPlaces, sample{"p/a.go": function(41), "p/b.go": file(401)}, []string{"f has 41 lines", "401 lines"}},
		{"long tests are not reported", LongPlaces, sample{"p/a_test.go": function(41)}, nil},
	})
}
