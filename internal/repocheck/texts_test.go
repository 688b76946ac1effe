package repocheck

import "testing"

func TestHosts(t *testing.T) {
	t.Parallel()
	runCases(t, []ruleCase{
		{"a registry", checkHosts, sample{"Makefile": "x\nGOPROXY=" + registryHosts[0] + "\n"}, []string{"Makefile:2: names the registry"}},
		{"a lock file with addresses", checkHosts, sample{"console/package-lock.json": `"resolv` + `ed": "https://` + registryHosts[3] + `/x"`}, []string{"names the registry"}},
		{"a home folder", checkHosts, sample{"docs/a.md": "see " + "/ro" + "ot/go/bin\n"}, []string{"docs/a.md:1: names a path of one machine"}},
		{"somebody's home folder", checkHosts, sample{"a.go": "package a\nconst p = \"" + "/ho" + "me/ada/x\"\n"}, []string{"a.go:2: names a path"}},
		{"the agent's workspace is fine", checkHosts, sample{"a.md": "mounted at /workspace and `/wo" + "rk/items`\n"}, nil},
		{"an address with such a part is fine", checkHosts, sample{"a.md": "https://example.org/ro" + "ot/x and ~/memory\n"}, nil},
	})
}

func TestLinks(t *testing.T) {
	t.Parallel()
	with := func(text string) sample {
		return sample{"docs/a.md": text, "docs/b.md": "# The one `thing`, once\n", "README.md": "x\n"}
	}
	runCases(t, []ruleCase{
		{"a file beside it", checkLinks, with("[b](b.md) and [up](../README.md) and [folder](../docs)\n"), nil},
		{"a missing file", checkLinks, with("x\n[b](c.md)\n"), []string{`docs/a.md:2: link "c.md": there is no such file`}},
		{"a heading", checkLinks, with("[b](b.md#the-one-thing-once)\n"), nil},
		{"a missing heading", checkLinks, with("[b](b.md#the-two)\n"), []string{"no such heading"}},
		{"a heading of its own", checkLinks, with("# Own\n[x](#own)\n[y](#other)\n"), []string{"docs/a.md:3"}},
		{"another host is not followed", checkLinks, with("[x](https://example.org/none)\n"), nil},
		{"code is not a link", checkLinks, with("`[x](none.md)`\n```\n[x](none.md)\n```\n"), nil},
	})
}

func TestChangelog(t *testing.T) {
	t.Parallel()
	runCases(t, []ruleCase{
		{"with the section", checkChangelog, sample{"CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n"}, nil},
		{"without the section", checkChangelog, sample{"CHANGELOG.md": "# Changelog\n\n## [0.1.0]\n"}, []string{"CHANGELOG.md: no"}},
		{"without the file", checkChangelog, sample{"a": ""}, []string{"CHANGELOG.md: no"}},
	})
}
