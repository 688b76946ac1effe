package prompt

import (
	"strconv"
	"strings"

	"github.com/loam-agents/loam/wire"
)

// maxListDepth bounds how deep a list nests before it stays text.
const maxListDepth = 16

// listItem recognises a list line after its indentation: "- text" or "1. text".
func listItem(line string) (kind, content string, ok bool) {
	line = strings.TrimLeft(line, " ")
	if content, ok = strings.CutPrefix(line, "- "); ok {
		return unordered, content, true
	}
	digits := strings.TrimLeft(line, "0123456789")
	number := line[:len(line)-len(digits)]
	if content, ok = strings.CutPrefix(digits, ". "); ok && number != "" && len(number) <= 9 {
		return ordered, content, true
	}
	return "", "", false
}

// list makes a block of an introduction (the first intro lines, may be none) and the list under it. Lists nest by the
// width of the parent's marker. It returns no block for lines it cannot place.
func (p *parser) list(lines []string, intro int) wire.PromptBlock {
	top := p.node(typeParagraph, strings.Join(lines[:intro], "\n"))
	// parents[d] is the block whose children stand at indents[d].
	parents, indents := []*wire.PromptBlock{&top}, []int{0}
	for _, line := range lines[intro:] {
		kind, content, ok := listItem(line)
		if !ok || blank(content) {
			return wire.PromptBlock{}
		}
		indent := len(line) - len(strings.TrimLeft(line, " "))
		for len(indents) > 1 && indents[len(indents)-1] > indent {
			parents, indents = parents[:len(parents)-1], indents[:len(indents)-1]
		}
		parent := parents[len(parents)-1]
		if indents[len(indents)-1] < indent {
			if len(parent.Children) == 0 || len(parents) == maxListDepth {
				return wire.PromptBlock{}
			}
			parent = &parent.Children[len(parent.Children)-1]
			parents, indents = append(parents, parent), append(indents, indent)
		}
		if parent.Children == nil {
			set(*parent, "childrenType", kind)
		}
		parent.Children = append(parent.Children, p.node(typeParagraph, content))
	}
	return top
}

// marker is what stands before the n-th item, counted from 0, of a list of that kind.
func marker(kind string, n int) string {
	if kind == ordered {
		return strconv.Itoa(n+1) + ". "
	}
	return "- "
}
