package prompt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loam-agents/loam/internal/agent/prompt"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/wire"
)

// counter names blocks b1, b2, …
func counter() prompt.IDSource {
	n := 0
	return func() string {
		n++
		return fmt.Sprintf("b%d", n)
	}
}

// outline writes blocks as indented lines of type, text and attributes, without ids.
func outline(nodes []wire.PromptBlock, indent string) string {
	var out strings.Builder
	for _, n := range nodes {
		fmt.Fprintf(&out, "%s%s %q %v\n", indent, n.Block["type"], n.Block["text"], n.Block["attributes"])
		out.WriteString(outline(n.Children, indent+"  "))
	}
	return out.String()
}

// lines are what a model reads of a text: its lines without the blank ones.
func lines(markdown string) []string {
	var out []string
	for line := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(markdown), "\n") {
		if strings.TrimSpace(line) != "" {
			out = append(out, line)
		}
	}
	return out
}

func TestParseUnderstandsMarkdown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"nothing":                       {" \n\n", ""},
		"a paragraph keeps its lines":   {"one\ntwo", "Paragraph \"one\\ntwo\" map[]\n"},
		"blank lines separate":          {"one\r\n\r\ntwo", "Paragraph \"one\" map[]\nParagraph \"two\" map[]\n"},
		"headings own what follows":     {"# A\nx\n## B\ny\n# C", "Heading \"A\" map[childrenType:Group]\n  Paragraph \"x\" map[]\n  Heading \"B\" map[childrenType:Group]\n    Paragraph \"y\" map[]\nHeading \"C\" map[]\n"},
		"a skipped level is kept":       {"## A", "Heading \"A\" map[level:2]\n"},
		"seven marks are text":          {"####### A", "Paragraph \"####### A\" map[]\n"},
		"a mark without space is text":  {"#A", "Paragraph \"#A\" map[]\n"},
		"a list has a container":        {"- a\n- b", "Paragraph \"\" map[childrenType:Unordered]\n  Paragraph \"a\" map[]\n  Paragraph \"b\" map[]\n"},
		"a list joins its introduction": {"Do:\n1. a\n2. b", "Paragraph \"Do:\" map[childrenType:Ordered]\n  Paragraph \"a\" map[]\n  Paragraph \"b\" map[]\n"},
		"lists nest":                    {"- a\n  1. b\n- c", "Paragraph \"\" map[childrenType:Unordered]\n  Paragraph \"a\" map[childrenType:Ordered]\n    Paragraph \"b\" map[]\n  Paragraph \"c\" map[]\n"},
		"odd numbering stays text":      {"3. a\n4. b", "Paragraph \"3. a\\n4. b\" map[]\n"},
		"odd indentation stays text":    {"- a\n     - b", "Paragraph \"- a\\n     - b\" map[]\n"},
		"a continued item stays text":   {"- a\n  more", "Paragraph \"- a\\n  more\" map[]\n"},
		"other marks stay text":         {"* a\n* b", "Paragraph \"* a\\n* b\" map[]\n"},
		"code keeps blank lines":        {"```go\na\n\n  b\n```\nx", "Code \"a\\n\\n  b\" map[language:go]\nParagraph \"x\" map[]\n"},
		"longer fences hold shorter":    {"````\n```\n````", "Code \"```\" map[]\n"},
		"open code stays text":          {"```\na\n\nb", "Paragraph \"```\\na\\n\\nb\" map[]\n"},
		"code hides marks":              {"```\n# a\n- b\n```", "Code \"# a\\n- b\" map[]\n"},
		"mathematics":                   {"$$\na^2\n$$", "Math \"a^2\" map[]\n"},
		"quotes have paragraphs":        {"> a\n> b\n>\n> c", "Paragraph \"\" map[childrenType:Blockquote]\n  Paragraph \"a\\nb\" map[]\n  Paragraph \"c\" map[]\n"},
		"a nested quote stays readable": {">> a", "Paragraph \">> a\" map[]\n"},
		"tables stay text":              {"| a |\n| --- |\n| b |", "Paragraph \"| a |\\n| --- |\\n| b |\" map[]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := prompt.Parse(c.in, counter())
			if diff := cmp.Diff(c.want, outline(got, "")); diff != "" {
				t.Errorf("blocks (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(lines(c.in), lines(prompt.Markdown(got))); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseNamesEveryBlockOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	var visit func([]wire.PromptBlock)
	visit = func(nodes []wire.PromptBlock) {
		for _, n := range nodes {
			id := n.Block["id"].(string)
			if len(id) != 8 || seen[id] {
				t.Errorf("id %q is malformed or repeated", id)
			}
			seen[id] = true
			visit(n.Children)
		}
	}
	visit(prompt.Parse("# A\n\n- a\n- b\n\n> c\n\n```\nd\n```", nil))
	if len(seen) != 7 {
		t.Errorf("blocks = %d, want 7", len(seen))
	}
}

// markdowns generates texts out of pieces that mean something in Markdown.
func markdowns() *rapid.Generator[string] {
	piece := rapid.SampledFrom([]string{
		"# ", "## ", "###", "- ", "1. ", "2. ", "10. ", "* ", "> ", ">", "```", "````", "$$", "|", "  ", "    ", "\t",
		"\n", "\n", "\n\n", "\r\n", "a", "word", "日本", "**b**", "[x](y)", "\x00", "\u2028", "\\",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces"), "")
	})
}

func TestMarkdownOfParseKeepsWhatTheModelReads(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := markdowns().Draw(t, "markdown")
		once := prompt.Markdown(prompt.Parse(in, counter()))
		if diff := cmp.Diff(lines(in), lines(once)); diff != "" {
			t.Fatalf("text (-want +got):\n%s", diff)
		}
		if twice := prompt.Markdown(prompt.Parse(once, counter())); twice != once {
			t.Fatalf("second pass gave %q after %q", twice, once)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("# A\n\n- a\n  - b\n\n```go\nx\n```\n> q")
	f.Fuzz(func(t *testing.T, in string) {
		got := prompt.Markdown(prompt.Parse(in, counter()))
		if diff := cmp.Diff(lines(in), lines(got)); diff != "" {
			t.Errorf("text (-want +got):\n%s", diff)
		}
	})
}

func node(block map[string]any, children ...wire.PromptBlock) wire.PromptBlock {
	return wire.PromptBlock{Block: block, Children: children}
}

func block(kind, content string, more ...any) map[string]any {
	out := map[string]any{"id": "x", "type": kind, "text": content}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

func TestMarkdownRendersWhatEditorsMake(t *testing.T) {
	t.Parallel()
	attrs := func(key string, v any) map[string]any { return map[string]any{key: v} }
	cell := func(s string) wire.PromptBlock { return node(block("Paragraph", s)) }
	for name, c := range map[string]struct {
		in   wire.PromptBlock
		want string
	}{
		"image":                      {node(block("Image", "a cat", "link", "ipfs://c")), "![a cat](ipfs://c)"},
		"embed as its link":          {node(block("Embed", "", "link", "hm://a/b")), "[hm://a/b](hm://a/b)"},
		"file by its name":           {node(block("File", "", "link", "ipfs://c", "attributes", attrs("name", "x.pdf"))), "[x.pdf](ipfs://c)"},
		"unknown type with text":     {node(block("Hologram", "hi")), "hi"},
		"unknown type with link":     {node(block("Hologram", "", "link", "https://x")), "[https://x](https://x)"},
		"unknown type with nothing":  {node(block("Hologram", "")), ""},
		"children of unknown types":  {node(block("Group", ""), cell("a"), cell("b")), "a\n\nb"},
		"inlined attributes":         {node(block("Paragraph", "l", "childrenType", "Unordered"), cell("a")), "l\n- a"},
		"heading with a list":        {node(block("Heading", "h", "attributes", attrs("childrenType", "Unordered")), cell("a")), "# h\n\n- a"},
		"heading over two lines":     {node(block("Heading", "a\nb")), "# a b"},
		"heading level from JSON":    {node(block("Heading", "a", "attributes", attrs("level", 3.0)), node(block("Heading", "b"))), "### a\n\n#### b"},
		"heading level out of range": {node(block("Heading", "a", "attributes", attrs("level", int64(99)))), "###### a"},
		"items over two lines":       {node(block("Paragraph", "", "childrenType", "Ordered"), cell("a\nb"), cell("c")), "1. a\n   b\n2. c"},
		"code in a list":             {node(block("Paragraph", "", "childrenType", "Unordered"), node(block("Code", "x\n\ny"))), "- ```\n  x\n\n  y\n  ```"},
		"code that holds a fence":    {node(block("Code", "```")), "````\n```\n````"},
		"table": {
			node(block("Table", ""), node(block("TableColumn", "")), node(block("TableRow", ""), cell("a|b"), cell("c\nd")), node(block("TableRow", ""), cell("1"), cell("2"))),
			"| a\\|b | c<br>d |\n| --- | --- |\n| 1 | 2 |",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := prompt.Markdown(wire.PromptBlocks{c.in}); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func mark(kind, link string, ranges ...any) map[string]any {
	var starts, ends []any
	for i := 0; i < len(ranges); i += 2 {
		starts, ends = append(starts, ranges[i]), append(ends, ranges[i+1])
	}
	return map[string]any{"type": kind, "link": link, "starts": starts, "ends": ends}
}

func TestMarkdownRendersAnnotations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		marks []any
		want  string
	}{
		"bold":                          {"abc", []any{mark("Bold", "", 1, 2)}, "a**b**c"},
		"several ranges":                {"abc", []any{mark("Bold", "", 0, 1, 2, 3)}, "**a**b**c**"},
		"offsets are code points":       {"😀b", []any{mark("Code", "", int64(1), int64(2))}, "😀`b`"},
		"floats as JSON has them":       {"ab", []any{mark("Italic", "", 0.0, 1.0)}, "_a_b"},
		"nested":                        {"abc", []any{mark("Bold", "", 1, 2), mark("Link", "u", 0, 3)}, "[a**b**c](u)"},
		"crossing":                      {"abc", []any{mark("Bold", "", 0, 2), mark("Italic", "", 1, 3)}, "**a_b_**_c_"},
		"mention":                       {"hi \ufffc!", []any{mark("Embed", "hm://x", 3, 4)}, "hi <hm://x>!"},
		"underline has no mark":         {"a", []any{mark("Underline", "", 0, 1)}, "a"},
		"link without target":           {"a", []any{mark("Link", "", 0, 1)}, "a"},
		"range beyond the text":         {"ab", []any{mark("Bold", "", 1, 9)}, "a**b**"},
		"range before the text":         {"ab", []any{mark("Bold", "", -5, 1)}, "**a**b"},
		"empty and backward ranges":     {"ab", []any{mark("Bold", "", 1, 1, 2, 0)}, "ab"},
		"offsets that are no numbers":   {"ab", []any{mark("Bold", "", "x", "y")}, "ab"},
		"annotations that are no marks": {"ab", []any{"x", nil, map[string]any{"type": 7}}, "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := prompt.Markdown(wire.PromptBlocks{node(block("Paragraph", c.text, "annotations", c.marks))})
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestMarkdownNeverFails(t *testing.T) {
	t.Parallel()
	kinds := rapid.SampledFrom([]string{"Paragraph", "Heading", "Code", "Table", "TableRow", "Embed", "X"})
	rapid.Check(t, func(t *rapid.T) {
		ranges := rapid.SliceOfN(rapid.IntRange(-2, 12), 0, 8).Draw(t, "ranges")
		var starts, ends []any
		for i, r := range ranges {
			if i%2 == 0 {
				starts = append(starts, r)
			} else {
				ends = append(ends, r)
			}
		}
		content := rapid.StringN(0, 10, -1).Draw(t, "text")
		n := node(block(kinds.Draw(t, "kind"), content, "annotations", []any{
			map[string]any{"type": "Bold", "starts": starts, "ends": ends},
			map[string]any{"type": "Code", "starts": ends, "ends": starts},
		}), node(block(kinds.Draw(t, "child"), content)))
		prompt.Markdown(wire.PromptBlocks{n, n})
	})
}

func TestBlocksRefusesWhatIsNotABlockArray(t *testing.T) {
	t.Parallel()
	good := func() map[string]any { return map[string]any{"block": block("Paragraph", "x"), "extra": 1} }
	deep := good()
	for range prompt.MaxDepth {
		parent := good()
		parent["children"] = []any{deep}
		deep = parent
	}
	long := map[string]any{"block": block("Paragraph", strings.Repeat("x", prompt.MaxBytes/2+1))}
	for name, c := range map[string]struct {
		in   []any
		want string
	}{
		"not a map":        {[]any{"x"}, "System prompt block is required"},
		"no block":         {[]any{map[string]any{}}, "System prompt block is required"},
		"no id":            {[]any{map[string]any{"block": map[string]any{"type": "X"}}}, "System prompt block id is required"},
		"id is a number":   {[]any{map[string]any{"block": map[string]any{"id": 1, "type": "X"}}}, "System prompt block id is required"},
		"no type":          {[]any{map[string]any{"block": map[string]any{"id": "x"}}}, "System prompt block type is required"},
		"children are one": {[]any{map[string]any{"block": block("X", ""), "children": good()}}, "System prompt block children must be a list"},
		"too deep":         {[]any{deep}, "System prompt is nested too deeply"},
		"too many":         {make([]any, prompt.MaxBlocks+1), "System prompt has too many blocks"},
		"too much text":    {[]any{long, long}, "System prompt is too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := prompt.Blocks(c.in)
			if err == nil || err.Error() != c.want || fault.CodeOf(err) != fault.ValidationFailed {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
	got, err := prompt.Blocks([]any{good()})
	if err != nil || len(got) != 1 || got[0].Block["text"] != "x" {
		t.Errorf("Blocks of a good array = %v, %v", got, err)
	}
}
