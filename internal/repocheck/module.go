package repocheck

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Versions that go.mod has to state. docs/dependencies.md gives the reasons.
const (
	goLine        = "1.26.7"
	toolchainLine = "go1.27.3"
	minXNet       = "v0.62.0"
)

// goMod is what the rules need of a go.mod file.
type goMod struct {
	goVersion, toolchain string
	replaces             []string
	// versions maps a required module to its version.
	versions map[string]string
}

// parseGoMod reads the line-oriented syntax that the go command writes. It is
// lenient: the go command has accepted the file before any test could run.
func parseGoMod(text string) goMod {
	mod := goMod{versions: map[string]string{}}
	block := ""
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if fields[0] == ")" {
			block = ""
			continue
		}
		if block != "" {
			fields = append([]string{block}, fields...)
		}
		if len(fields) == 2 && fields[1] == "(" {
			block = fields[0]
			continue
		}
		mod.add(fields)
	}
	return mod
}

func (m *goMod) add(fields []string) {
	switch {
	case fields[0] == "go" && len(fields) == 2:
		m.goVersion = fields[1]
	case fields[0] == "toolchain" && len(fields) == 2:
		m.toolchain = fields[1]
	case fields[0] == "require" && len(fields) == 3:
		m.versions[fields[1]] = fields[2]
	case fields[0] == "replace":
		m.replaces = append(m.replaces, strings.Join(fields[1:], " "))
	}
}

// CheckGoMod applies the rules that need another module's go.mod beside ours:
// libcUpstream is the version of modernc.org/libc that modernc.org/sqlite
// requires, "" when the module is not used.
func CheckGoMod(text, libcUpstream string) []Finding {
	const name = "go.mod"
	mod := parseGoMod(text)
	var findings []Finding
	if mod.goVersion != goLine || mod.toolchain != toolchainLine {
		findings = append(findings, findingf(name, "go %s with toolchain %s, want go %s with toolchain %s: older standard libraries have vulnerabilities that a server reaches",
			mod.goVersion, mod.toolchain, goLine, toolchainLine))
	}
	for _, replaced := range mod.replaces {
		findings = append(findings, findingf(name, "replace %s: `go install` of the module would refuse it; use a released version", replaced))
	}
	if got := mod.versions["golang.org/x/net"]; got != "" && olderVersion(got, minXNet) {
		findings = append(findings, findingf(name, "golang.org/x/net %s is older than %s, which repairs vulnerabilities", got, minXNet))
	}
	if got := mod.versions["modernc.org/libc"]; got != libcUpstream && libcUpstream != "" {
		findings = append(findings, findingf(name, "modernc.org/libc %s, but modernc.org/sqlite was made with %s and works with no other: go get modernc.org/libc@%s, and find out which dependency raised it",
			got, libcUpstream, libcUpstream))
	}
	return findings
}

// checkToolchain finds places that choose the toolchain and choose another one.
func checkToolchain(tree *Tree) []Finding {
	var findings []Finding
	for name, line := range map[string]string{
		"Makefile":     "export GOTOOLCHAIN := " + toolchainLine,
		".ci/run":      "export GOTOOLCHAIN=" + toolchainLine,
		"tools/go.mod": "toolchain " + toolchainLine,
	} {
		if !slices.Contains(strings.Split(tree.Texts[name], "\n"), line) {
			findings = append(findings, findingf(name, "does not say %q: move go.mod, Makefile, .ci/run, tools/go.mod and this rule together", line))
		}
	}
	return sorted(findings)
}

// olderVersion compares release versions such as v0.62.0 by number.
func olderVersion(a, b string) bool {
	return slices.Compare(versionNumbers(a), versionNumbers(b)) < 0
}

func versionNumbers(version string) []int {
	release, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	var numbers []int
	for part := range strings.SplitSeq(release, ".") {
		// What is not a number counts as 0, the oldest.
		number, _ := strconv.Atoi(part)
		numbers = append(numbers, number)
	}
	return numbers
}

// dependenciesDoc is the document that explains every direct dependency.
const dependenciesDoc = "docs/dependencies.md"

// listedModule matches a table row whose first cell is a module path.
var listedModule = regexp.MustCompile("(?m)^\\|\\s*`([^`\\s]+/[^`\\s]*)`")

// checkDependencies compares the modules the product's code and tests import
// with the rows of docs/dependencies.md, in both directions.
func checkDependencies(tree *Tree) []Finding {
	mod := parseGoMod(tree.Texts["go.mod"])
	doc, page := cutSection(tree.Texts[dependenciesDoc], pageSection)
	listed := map[string]bool{}
	for _, match := range listedModule.FindAllStringSubmatch(doc, -1) {
		listed[match[1]] = true
	}
	findings := checkPagePackages(tree, page)
	used := usedModules(tree, mod)
	for module, where := range used {
		if !listed[module] {
			findings = append(findings, findingf(dependenciesDoc, "no row for %s (imported at %s): say what for, why this one, its weight and its licence", module, where))
		}
	}
	for module := range listed {
		if _, imported := used[module]; !imported {
			findings = append(findings, findingf(dependenciesDoc, "the row for %s explains a module that nothing imports: remove the row", module))
		}
	}
	return sorted(findings)
}

// usedModules maps each required module that a Go file imports to one importer.
func usedModules(tree *Tree, mod goMod) map[string]string {
	used := map[string]string{}
	for _, file := range tree.GoFiles {
		for _, spec := range file.imports() {
			for module := spec.path; module != "." && module != "/"; module = path.Dir(module) {
				if _, required := mod.versions[module]; required {
					if used[module] == "" {
						used[module] = tree.at(spec.pos)
					}
					break
				}
			}
		}
	}
	return used
}

// pageSection is the section of docs/dependencies.md about what the page is built from, which npm brings.
const pageSection = "## In the page"

// cutSection takes a section out of a document. Both parts keep their order.
func cutSection(doc, heading string) (rest, section string) {
	before, after, found := strings.Cut(doc, heading+"\n")
	if !found {
		return doc, ""
	}
	section, next, found := strings.Cut(after, "\n## ")
	if found {
		next = "\n## " + next
	}
	return before + next, section
}

var (
	packageRow  = regexp.MustCompile("(?m)^\\|((?:\\s*`[^`]+`,?)+)\\s*\\|")
	packageName = regexp.MustCompile("`([^`]+)`")
)

// checkPagePackages compares the packages that the page is bundled from with their rows.
func checkPagePackages(tree *Tree, section string) []Finding {
	const manifest = "console/package.json"
	text, ok := tree.Texts[manifest]
	if !ok {
		return nil
	}
	var page struct{ Dependencies map[string]string }
	if err := json.Unmarshal([]byte(text), &page); err != nil {
		return []Finding{findingf(manifest, "is not JSON: %v", err)}
	}
	var findings []Finding
	listed := map[string]bool{}
	for _, row := range packageRow.FindAllStringSubmatch(section, -1) {
		for _, name := range packageName.FindAllStringSubmatch(row[1], -1) {
			listed[name[1]] = true
			if page.Dependencies[name[1]] == "" {
				findings = append(findings, findingf(dependenciesDoc, "the row for %s explains a package that the page does not use: remove the row", name[1]))
			}
		}
	}
	for name := range page.Dependencies {
		if !listed[name] {
			findings = append(findings, findingf(dependenciesDoc, "no row for %s (console/package.json): say what for, why this one and its licence", name))
		}
	}
	return findings
}
