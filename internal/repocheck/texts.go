package repocheck

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// registryHosts are package registries. Which one a machine uses is that
// machine's configuration. The names are spelled in two parts so that this file
// does not contain them.
var registryHosts = []string{
	"proxy." + "golang.org", "sum." + "golang.org", "goproxy." + "io",
	"registry." + "npmjs.org", "registry." + "yarnpkg.com",
	"files." + "pythonhosted.org", "pypi." + "org", "static." + "crates.io",
	"deb." + "debian.org", "security." + "debian.org", "archive." + "ubuntu.com",
}

// machinePaths match absolute paths that exist only where somebody develops.
var machinePaths = regexp.MustCompile(`(^|[\s"'=(:\x60])/(root|home/[a-z][a-z0-9_-]*|Users/[A-Za-z][A-Za-z0-9_-]*|work/(main|shared)|tmp/[a-z]+/[a-z.]+)(/|$|[\s"'):\x60])`)

// checkHosts keeps the tree independent of the machines it was written on.
func checkHosts(tree *Tree) []Finding {
	var findings []Finding
	for name, text := range tree.Texts {
		for number, line := range strings.Split(text, "\n") {
			for _, host := range registryHosts {
				if strings.Contains(line, host) {
					findings = append(findings, findingf(lineOf(name, number), "names the registry %s: leave the choice to the machine's configuration", host))
				}
			}
			if match := machinePaths.FindString(line); match != "" {
				findings = append(findings, findingf(lineOf(name, number), "names a path of one machine (%s): use a relative path, t.TempDir() or a neutral example", strings.TrimSpace(match)))
			}
		}
	}
	return sorted(findings)
}

var (
	fencedCode   = regexp.MustCompile("(?ms)^[ ]*```.*?^[ ]*```[ ]*$")
	inlineCode   = regexp.MustCompile("`[^`\n]*`")
	markdownLink = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	heading      = regexp.MustCompile(`(?m)^#{1,6}[ \t]+(.+?)[ \t]*#*$`)
	notInSlug    = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// checkLinks resolves every relative link of every Markdown document, the
// heading after # included. Links to other hosts are not followed.
func checkLinks(tree *Tree) []Finding {
	var findings []Finding
	for name, text := range tree.Texts {
		if path.Ext(name) != ".md" || inTestdata(name) {
			continue
		}
		prose := blank(inlineCode, blank(fencedCode, text))
		for _, match := range markdownLink.FindAllStringSubmatchIndex(prose, -1) {
			target := prose[match[2]:match[3]]
			if problem := brokenLink(tree, name, target); problem != "" {
				line := strings.Count(prose[:match[0]], "\n")
				findings = append(findings, findingf(lineOf(name, line), "link %q: %s", target, problem))
			}
		}
	}
	return sorted(findings)
}

// blank replaces what matches with spaces, so that line numbers stay.
func blank(pattern *regexp.Regexp, text string) string {
	return pattern.ReplaceAllStringFunc(text, func(match string) string {
		return strings.Map(func(r rune) rune {
			if r == '\n' {
				return r
			}
			return ' '
		}, match)
	})
}

func brokenLink(tree *Tree, from, target string) string {
	link, err := url.Parse(target)
	if err != nil {
		return "not a URL"
	}
	if link.Scheme != "" || link.Host != "" {
		return ""
	}
	file := from
	if link.Path != "" {
		file = path.Join(path.Dir(from), link.Path)
	}
	if !tree.Paths[file] {
		return "there is no such file"
	}
	if link.Fragment != "" && path.Ext(file) == ".md" && !slices.Contains(headings(tree.Texts[file]), link.Fragment) {
		return "the document has no such heading"
	}
	return ""
}

// headings gives the anchors of a document the way forges form them.
func headings(text string) []string {
	var anchors []string
	for _, match := range heading.FindAllStringSubmatch(blank(fencedCode, text), -1) {
		slug := notInSlug.ReplaceAllString(strings.ToLower(match[1]), "")
		anchors = append(anchors, strings.ReplaceAll(slug, " ", "-"))
	}
	return anchors
}

// checkChangelog wants the section that the next change is written into.
func checkChangelog(tree *Tree) []Finding {
	const name = "CHANGELOG.md"
	if strings.Contains(tree.Texts[name], "\n## [Unreleased]\n") {
		return nil
	}
	return []Finding{{name, `no "## [Unreleased]" section: every change that a user can notice gets one line there`}}
}

func lineOf(name string, zeroBased int) string { return name + ":" + strconv.Itoa(zeroBased+1) }
