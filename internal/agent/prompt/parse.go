package prompt

import (
	"slices"
	"strings"

	"github.com/loam-agents/loam/wire"
)

// Parse makes blocks of Markdown text. It never fails: what it does not understand stays a paragraph. Line ends become \n;
// blank lines outside of code only separate. newID names the blocks in the order they stand; nil means RandomID.
func Parse(markdown string, newID IDSource) wire.PromptBlocks {
	if newID == nil {
		newID = RandomID
	}
	p := &parser{newID: newID}
	p.lines = strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(markdown), "\n")
	root := &section{}
	open := []*section{root}
	for {
		for p.at < len(p.lines) && blank(p.lines[p.at]) {
			p.at++
		}
		if p.at == len(p.lines) {
			return tree(root)
		}
		level, title := heading(p.lines[p.at])
		if level == 0 {
			last := open[len(open)-1]
			last.nodes = append(last.nodes, &section{node: p.next()})
			continue
		}
		p.at++
		for len(open) > 1 && open[len(open)-1].level >= level {
			open = open[:len(open)-1]
		}
		h := &section{level: level, node: p.node(typeHeading, title)}
		if level != len(open) {
			set(h.node, "level", level)
		}
		last := open[len(open)-1]
		last.nodes = append(last.nodes, h)
		open = append(open, h)
	}
}

type parser struct {
	lines []string
	at    int
	newID IDSource
}

// section is a block under construction: a heading takes in what follows it.
type section struct {
	level int
	node  wire.PromptBlock
	nodes []*section
}

func tree(s *section) []wire.PromptBlock {
	out := make([]wire.PromptBlock, 0, len(s.nodes))
	for _, n := range s.nodes {
		if n.level > 0 {
			if n.node.Children = tree(n); len(n.node.Children) > 0 {
				set(n.node, "childrenType", group)
			}
		}
		out = append(out, n.node)
	}
	return out
}

func (p *parser) node(kind, content string) wire.PromptBlock {
	return wire.PromptBlock{Block: map[string]any{
		"id": p.newID(), "type": kind, "text": content, "annotations": []any{}, "attributes": map[string]any{},
	}}
}

func set(n wire.PromptBlock, key string, value any) {
	n.Block["attributes"].(map[string]any)[key] = value
}

// heading recognises an ATX heading that renders as it was written. Level is 0 for other lines.
func heading(line string) (level int, title string) {
	rest := strings.TrimLeft(line, "#")
	level = len(line) - len(rest)
	if level < 1 || level > 6 || !strings.HasPrefix(rest, " ") {
		return 0, ""
	}
	title = rest[1:]
	if title == "" || title != strings.TrimSpace(title) {
		return 0, ""
	}
	return level, title
}

// next takes the piece that starts at the current line, which is not blank and no heading.
func (p *parser) next() wire.PromptBlock {
	line := p.lines[p.at]
	switch {
	case strings.HasPrefix(line, "```"):
		return p.proven(p.fence(), p.code)
	case line == "$$":
		return p.proven(p.mathematics(), p.math)
	case strings.HasPrefix(line, ">"):
		return p.proven(p.run(func(l string) bool { return strings.HasPrefix(l, ">") }), p.quote)
	}
	lines := p.run(func(l string) bool { return !startsOther(l) })
	intro := slices.IndexFunc(lines, func(l string) bool { _, _, ok := listItem(l); return ok })
	if intro < 0 {
		return p.node(typeParagraph, strings.Join(lines, "\n"))
	}
	return p.proven(lines, func(lines []string) wire.PromptBlock { return p.list(lines, intro) })
}

// startsOther tells whether a line ends a paragraph although no blank line stands before it.
func startsOther(line string) bool {
	level, _ := heading(line)
	return level > 0 || strings.HasPrefix(line, "```") || strings.HasPrefix(line, ">") || line == "$$"
}

// proven builds a block from lines and keeps it when it renders to the same lines; otherwise the lines stay a paragraph.
func (p *parser) proven(lines []string, build func([]string) wire.PromptBlock) wire.PromptBlock {
	raw := strings.Join(lines, "\n")
	if n := build(lines); len(n.Block) > 0 && Markdown([]wire.PromptBlock{n}) == raw {
		return n
	}
	return p.node(typeParagraph, raw)
}

// run takes the current line and those after it that belong to it.
func (p *parser) run(belongs func(string) bool) []string {
	start := p.at
	for p.at++; p.at < len(p.lines) && !blank(p.lines[p.at]) && belongs(p.lines[p.at]); p.at++ {
	}
	return p.lines[start:p.at]
}

// fence takes a code fence with its closing line; without one, everything up to the end.
func (p *parser) fence() []string {
	start := p.at
	mark := ticks(p.lines[start])
	for p.at++; p.at < len(p.lines); p.at++ {
		if p.lines[p.at] == mark {
			p.at++
			break
		}
	}
	return p.lines[start:p.at]
}

func (p *parser) mathematics() []string {
	end := slices.Index(p.lines[p.at+1:], "$$")
	if end < 0 {
		return p.run(func(l string) bool { return !startsOther(l) })
	}
	start := p.at
	p.at += end + 2
	return p.lines[start:p.at]
}

func ticks(line string) string { return line[:len(line)-len(strings.TrimLeft(line, "`"))] }

func (p *parser) code(lines []string) wire.PromptBlock {
	if len(lines) < 2 {
		return wire.PromptBlock{}
	}
	n := p.node(typeCode, strings.Join(lines[1:len(lines)-1], "\n"))
	if language := lines[0][len(ticks(lines[0])):]; language != "" {
		set(n, "language", language)
	}
	return n
}

func (p *parser) math(lines []string) wire.PromptBlock {
	if len(lines) < 3 {
		return wire.PromptBlock{}
	}
	return p.node(typeMath, strings.Join(lines[1:len(lines)-1], "\n"))
}

// quote makes a container of one paragraph for each stretch between lines that hold the mark alone.
func (p *parser) quote(lines []string) wire.PromptBlock {
	n := p.node(typeParagraph, "")
	set(n, "childrenType", blockquote)
	var stretch []string
	flush := func() {
		if len(stretch) > 0 {
			n.Children = append(n.Children, p.node(typeParagraph, strings.Join(stretch, "\n")))
			stretch = nil
		}
	}
	for _, line := range lines {
		if line == ">" {
			flush()
			continue
		}
		stretch = append(stretch, strings.TrimPrefix(line, "> "))
	}
	flush()
	return n
}

func blank(line string) bool { return strings.TrimSpace(line) == "" }
