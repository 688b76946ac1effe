package memory_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/memory"
)

func TestVariantsOfAPathNameOneFile(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a":                      "a",
		"a/b.md":                 "a/b.md",
		"a//b.md":                "a/b.md",
		"./a/./b.md":             "a/b.md",
		`a\b.md`:                 "a/b.md",
		"a/b.md/":                "a/b.md",
		"":                       "",
		".":                      "",
		"./":                     "",
		" a /b":                  " a /b",
		"...":                    "...",
		"..a/b..":                "..a/b..",
		"caf\u0065\u0301":        "caf\u00e9",
		"日本/語.md":                "日本/語.md",
		"CON":                    "CON",
		"a:b":                    "a:b",
		"-rf":                    "-rf",
		strings.Repeat("a/", 16): strings.Repeat("a/", 15) + "a",
	} {
		got, err := memory.Normalize(in)
		if err != nil || got != want {
			t.Errorf("Normalize(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

func TestUnsafePathsAreRefused(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"traversal":                     "../x",
		"traversal in the middle":       "a/../b",
		"traversal with backslashes":    `a\..\..\b`,
		"traversal alone":               "..",
		"absolute":                      "/etc/passwd",
		"absolute with a backslash":     `\etc`,
		"a network share":               `\\host\share`,
		"a drive":                       `C:\x`,
		"a drive with a slash":          "c:/x",
		"NUL":                           "a\x00b",
		"newline":                       "a\nb",
		"escape":                        "a\x1b[2Jb",
		"delete":                        "a\x7f",
		"C1 control":                    "a\u0085b",
		"not UTF-8":                     "a\xff",
		"too deep":                      strings.Repeat("a/", 17) + "b",
		"giant depth":                   strings.Repeat("a/", 1<<20),
		"long name":                     strings.Repeat("a", 256),
		"long path":                     strings.Repeat(strings.Repeat("a", 128)+"/", 4) + "b",
		"long only after normalisation": strings.Repeat("\u0958", 170),
		"many separators":               strings.Repeat("a/"+strings.Repeat("/", 300), 20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := memory.Normalize(in); fault.CodeOf(err) != fault.ValidationFailed {
				t.Errorf("Normalize = %q, %v", got, err)
			}
		})
	}
}

func checkNormal(t interface{ Fatalf(string, ...any) }, in string) {
	out, err := memory.Normalize(in)
	if err != nil {
		if fault.CodeOf(err) != fault.ValidationFailed {
			t.Fatalf("Normalize(%q) = %v", in, err)
		}
		return
	}
	if again, err := memory.Normalize(out); err != nil || again != out {
		t.Fatalf("Normalize is not stable: %q then %q, %v", out, again, err)
	}
	if len(out) > memory.MaxPath || strings.HasPrefix(out, "/") || strings.ContainsAny(out, "\\\x00") {
		t.Fatalf("Normalize(%q) = %q", in, out)
	}
	if out == "" {
		return
	}
	for name := range strings.SplitSeq(out, "/") {
		if name == "" || name == "." || name == ".." {
			t.Fatalf("Normalize(%q) = %q holds the name %q", in, out, name)
		}
	}
}

func TestNormalizeIsStableAndSafe(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"/", `\`, ".", "..", "a", "C:", "\u0301", "e", "é", "\x00", " ", "\xff", "日本"})
	rapid.Check(t, func(t *rapid.T) {
		checkNormal(t, strings.Join(rapid.SliceOfN(piece, 0, 24).Draw(t, "pieces"), ""))
	})
}

func FuzzNormalize(f *testing.F) {
	f.Add(`a/./b\..\c`)
	f.Fuzz(func(t *testing.T, in string) { checkNormal(t, in) })
}

func TestMimeTypeComesFromTheExtension(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a.md": "text/markdown", "a.MD": "text/markdown", "x/y.json": "application/json", "a.tar.gz": "application/gzip",
		"p.JPEG": "image/jpeg", "p.png": "image/png", "s.svg": "image/svg+xml", "m.mp3": "audio/mpeg", "v.mp4": "video/mp4",
		"README": "", "a.": "", "x.md/y": "", "a.unknown": "", "": "",
	} {
		if got := memory.MimeType(in); got != want {
			t.Errorf("MimeType(%q) = %q, want %q", in, got, want)
		}
	}
}
