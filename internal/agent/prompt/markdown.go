package prompt

import (
	"strings"

	"github.com/loam-agents/loam/wire"
)

// Markdown renders blocks as a model reads them: blocks separated by a blank line, lists and an introduction directly above
// them without one. Embeds, images and files become links; a block of an unknown type becomes its text or its link.
func Markdown(blocks wire.PromptBlocks) string {
	return strings.Join(pieces(blocks, 1), "\n\n")
}

// pieces renders siblings at a heading level; blocks that show nothing are left out.
func pieces(nodes []wire.PromptBlock, level int) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, piece(n, level)...)
	}
	return out
}

// piece renders one block and its children.
func piece(n wire.PromptBlock, level int) []string {
	kind := text(n.Block, "type")
	var out []string
	if kind == "Table" {
		return append(out, table(n.Children))
	}
	own := body(n.Block, level)
	if own != "" {
		out = append(out, own)
	}
	if kind == typeHeading {
		level = min(headingLevel(n.Block, level)+1, 6)
	}
	if len(n.Children) == 0 {
		return out
	}
	switch arrangement := attributeText(n.Block, "childrenType"); arrangement {
	case ordered, unordered:
		items := list(n.Children, arrangement, level)
		if own != "" && kind != typeHeading {
			return []string{own + "\n" + items}
		}
		return append(out, items)
	case blockquote:
		quoted := prefix(strings.Join(pieces(n.Children, level), "\n\n"), "> ", "> ")
		return append(out, quoted)
	}
	return append(out, pieces(n.Children, level)...)
}

func list(items []wire.PromptBlock, arrangement string, level int) string {
	out := make([]string, 0, len(items))
	for i, item := range items {
		mark := marker(arrangement, i)
		content := strings.Join(piece(item, level), "\n\n")
		out = append(out, prefix(content, mark, strings.Repeat(" ", len(mark))))
	}
	return strings.Join(out, "\n")
}

// prefix puts first before the first line and rest before the others; blank lines get it without its trailing space.
func prefix(content, first, rest string) string {
	lines := strings.Split(content, "\n")
	for i, line := range lines {
		before := rest
		if i == 0 {
			before = first
		}
		if line == "" {
			before = strings.TrimRight(before, " ")
		}
		lines[i] = before + line
	}
	return strings.Join(lines, "\n")
}

func headingLevel(block map[string]any, level int) int {
	switch v := attribute(block, "level").(type) {
	case int:
		level = v
	case int64:
		level = int(v)
	case uint64:
		level = int(min(v, 6))
	case float64:
		level = int(v)
	}
	return min(max(level, 1), 6)
}

// body renders a block without its children.
func body(block map[string]any, level int) string {
	content, link := text(block, "text"), text(block, "link")
	switch text(block, "type") {
	case typeHeading:
		if line := strings.ReplaceAll(inline(block), "\n", " "); line != "" {
			return strings.Repeat("#", headingLevel(block, level)) + " " + line
		}
		return ""
	case typeCode:
		fence := fenceFor(content)
		return fence + attributeText(block, "language") + "\n" + content + "\n" + fence
	case typeMath:
		return "$$\n" + content + "\n$$"
	case "Image":
		return "![" + content + "](" + link + ")"
	case "Video", "File", "Button", "Embed", "WebEmbed":
		return "[" + label(block) + "](" + link + ")"
	}
	if content != "" || link == "" {
		return inline(block)
	}
	return "[" + label(block) + "](" + link + ")"
}

// label is the text of a link to a block's target.
func label(block map[string]any) string {
	for _, s := range []string{text(block, "text"), attributeText(block, "name"), text(block, "link")} {
		if s != "" {
			return s
		}
	}
	return text(block, "type")
}

// fenceFor is a fence that no line of the code closes.
func fenceFor(code string) string {
	longest := 2
	for line := range strings.SplitSeq(code, "\n") {
		longest = max(longest, len(ticks(strings.TrimLeft(line, " "))))
	}
	return strings.Repeat("`", longest+1)
}

// table renders rows of cells; the first row is the header, which Markdown cannot do without.
func table(children []wire.PromptBlock) string {
	var lines []string
	for _, row := range children {
		if text(row.Block, "type") != "TableRow" {
			continue
		}
		var line, rule strings.Builder
		for _, cell := range row.Children {
			content := strings.ReplaceAll(inline(cell.Block), "|", `\|`)
			line.WriteString("| " + strings.ReplaceAll(content, "\n", "<br>") + " ")
			rule.WriteString("| --- ")
		}
		lines = append(lines, line.String()+"|")
		if len(lines) == 1 {
			lines = append(lines, rule.String()+"|")
		}
	}
	return strings.Join(lines, "\n")
}
