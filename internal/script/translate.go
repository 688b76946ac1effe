package script

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"
)

// translation is what the process that translates answers: a program in plain JavaScript, or why there is none.
type translation struct {
	Code     string    `json:"code"`
	Map      string    `json:"map"`
	Problems []Problem `json:"problems,omitempty"`
}

// mark begins the names that stand for refused ones in a translation.
const mark = "__loam_refused_"

var marked = regexp.MustCompile(mark + `(\d+)`)

// translate takes TypeScript to JavaScript and looks for what a script may not do. It is only called in a process of its own:
// a source can make a compiler use all of a stack, a processor or a memory.
func translate(source string) translation {
	if at := strings.Index(source, mark); at >= 0 {
		line := 1 + strings.Count(source[:at], "\n")
		return translation{Problems: []Problem{{Line: line, Column: at - strings.LastIndex(source[:at], "\n"), Message: mark + " is a reserved name"}}}
	}
	names := make([]string, 0, len(refused))
	for name := range refused {
		names = append(names, name)
	}
	slices.Sort(names)
	define := make(map[string]string, len(names))
	for i, name := range names {
		define[name] = mark + strconv.Itoa(i)
	}
	result := api.Build(options(source, define))
	out := translation{}
	for _, e := range result.Errors {
		p := Problem{Message: strings.TrimPrefix(e.Text, "[plugin: no imports] ")}
		if e.Location != nil {
			p.Line, p.Column = e.Location.Line, e.Location.Column+1
		}
		out.Problems = append(out.Problems, p)
	}
	for _, f := range result.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			out.Map = string(f.Contents)
		} else {
			out.Code = string(f.Contents)
		}
	}
	if len(out.Problems) == 0 {
		out.Problems = append(usesOf(&out, names), exportsOf(result.Metafile)...)
	}
	slices.SortStableFunc(out.Problems, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
	out.Problems = slices.Compact(out.Problems)
	return out
}

// options are those of a compiler that reads one file, keeps all of it, and knows no other.
func options(source string, define map[string]string) api.BuildOptions {
	return api.BuildOptions{
		Stdin: &api.StdinOptions{Contents: source, Sourcefile: Filename, Loader: api.LoaderTS}, Bundle: true, Outfile: "out.js",
		Format: api.FormatESModule, Target: api.ES2023, Platform: api.PlatformNeutral, Charset: api.CharsetUTF8, TreeShaking: api.TreeShakingFalse,
		Sourcemap: api.SourceMapExternal, Metafile: true, Define: define, LogLevel: api.LogLevelSilent,
		LogOverride: map[string]api.LogLevel{"direct-eval": api.LogLevelError},
		Plugins: []api.Plugin{{Name: "no imports", Setup: func(b api.PluginBuild) {
			b.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
				if a.Kind == api.ResolveEntryPoint {
					return api.OnResolveResult{}, nil
				}
				return api.OnResolveResult{Errors: []api.Message{{Text: noImport}}}, nil
			})
		}}},
	}
}

// usesOf finds the names that were marked, at their places in the source.
func usesOf(t *translation, names []string) []Problem {
	found := marked.FindAllStringSubmatchIndex(t.Code, -1)
	if len(found) == 0 {
		return nil
	}
	places, err := sourcemap.Parse("", []byte(t.Map))
	if err != nil {
		return []Problem{{Message: "the places of what is refused are not known: " + err.Error()}}
	}
	var out []Problem
	for _, f := range found {
		i, err := strconv.Atoi(t.Code[f[2]:f[3]])
		if err != nil || i >= len(names) {
			continue
		}
		before := t.Code[:f[0]]
		_, _, line, column, ok := places.Source(1+strings.Count(before, "\n"), len(before)-1-strings.LastIndex(before, "\n"))
		p := Problem{Message: names[i] + " is refused: " + refused[names[i]]}
		if ok {
			p.Line, p.Column = line, column+1
		}
		out = append(out, p)
	}
	return out
}

// exportsOf tells when a program exports anything but its default.
func exportsOf(metafile string) []Problem {
	var meta struct {
		Outputs map[string]struct {
			Exports []string `json:"exports"`
		} `json:"outputs"`
	}
	if err := json.Unmarshal([]byte(metafile), &meta); err != nil {
		return []Problem{{Message: "the exports of the program are not known: " + err.Error()}}
	}
	var exports []string
	for name, o := range meta.Outputs {
		if !strings.HasSuffix(name, ".map") {
			exports = o.Exports
		}
	}
	if slices.Equal(exports, []string{"default"}) {
		return nil
	}
	return []Problem{{Message: fmt.Sprintf("a script exports one thing, export default async function (input, ctx) {…}; this one exports %d", len(exports))}}
}

// answer is the work of the process that translates: source in, translation out.
func answer(in io.Reader, out io.Writer) error {
	source, err := io.ReadAll(io.LimitReader(in, MaxSource+1))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(translate(string(source))); err != nil {
		return err
	}
	_, err = out.Write(b.Bytes())
	return err
}
