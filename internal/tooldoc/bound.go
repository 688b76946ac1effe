package tooldoc

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Limits of a schema and of the inputs that are checked against it. Schemas come from strangers (seeds/000: lambdas, MCP
// servers), and a validator follows every path through one: a few references that each point twice at the next would keep it
// busy for ever.
const (
	// MaxSchema bounds a schema in bytes.
	MaxSchema = 256 << 10
	// MaxInput bounds the arguments of one call in bytes.
	MaxInput = 8 << 20
	// maxDepth bounds how deep a schema nests, references followed.
	maxDepth = 64
	// maxCost bounds the sub-schemas that one value can meet: those of a schema, counted once for every way to reach them.
	maxCost = 4096
	// maxWork bounds the cost of a schema times the bytes of an input.
	maxWork = 1 << 28
)

// cost counts the sub-schemas of a schema, references followed. References that lead out of it, into a circle, or past the
// limits are refused.
func cost(root any) (int, error) {
	c := coster{root: root, known: map[string]int{}, open: map[string]bool{}}
	return c.of(root, 0)
}

type coster struct {
	root any
	// known are the costs of targets of references, open those that are being counted.
	known map[string]int
	open  map[string]bool
}

func (c *coster) of(node any, depth int) (int, error) {
	if depth > maxDepth {
		return 0, fmt.Errorf("schema is nested deeper than %d", maxDepth)
	}
	switch n := node.(type) {
	case map[string]any:
		return c.object(n, depth)
	case []any:
		return c.sum(slices.Values(n), depth)
	}
	return 0, nil
}

func (c *coster) object(n map[string]any, depth int) (int, error) {
	if _, nested := n["$id"].(string); nested && depth > 0 {
		return 0, fmt.Errorf("schema must not hold another schema with an $id")
	}
	for _, keyword := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, ok := n[keyword].(string); ok {
			return 0, fmt.Errorf("schema uses %s, which is not supported", keyword)
		}
	}
	followed := 0
	if ref, ok := n["$ref"].(string); ok {
		var err error
		if followed, err = c.follow(ref, depth); err != nil {
			return 0, err
		}
	}
	inner, err := c.sum(func(yield func(any) bool) {
		for _, key := range slices.Sorted(maps.Keys(n)) {
			switch key {
			// Values, and definitions that cost something only where they are referred to.
			case "enum", "const", "default", "examples", "$defs", "definitions":
				continue
			}
			if !yield(n[key]) {
				return
			}
		}
	}, depth)
	return c.limit(1+followed+inner, err)
}

func (c *coster) sum(nodes func(func(any) bool), depth int) (int, error) {
	total := 0
	for node := range nodes {
		n, err := c.of(node, depth+1)
		if total, err = c.limit(total+n, err); err != nil {
			return 0, err
		}
	}
	return total, nil
}

func (c *coster) limit(n int, err error) (int, error) {
	if err == nil && n > maxCost {
		err = fmt.Errorf("schema is too large: it has more than %d parts, references followed", maxCost)
	}
	return n, err
}

func (c *coster) follow(ref string, depth int) (int, error) {
	if n, ok := c.known[ref]; ok {
		return n, nil
	}
	target, err := c.resolve(ref)
	if err != nil {
		return 0, err
	}
	if c.open[ref] {
		return 0, fmt.Errorf("schema refers to itself at %.100q, which is not supported", ref)
	}
	c.open[ref] = true
	n, err := c.of(target, depth+1)
	delete(c.open, ref)
	c.known[ref] = n
	return n, err
}

// resolve finds the target of a JSON pointer within the schema.
func (c *coster) resolve(ref string) (any, error) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && !strings.HasPrefix(pointer, "/") {
		return nil, fmt.Errorf("schema refers to %.100q: only references of the form #/… are followed", ref)
	}
	node := c.root
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, step := range strings.Split(pointer, "/")[1:] {
		switch n := node.(type) {
		case map[string]any:
			node, ok = n[unescape.Replace(step)]
		case []any:
			i, err := strconv.Atoi(step)
			if ok = err == nil && i >= 0 && i < len(n); ok {
				node = n[i]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, fmt.Errorf("schema refers to %.100q, where nothing is", ref)
		}
	}
	return node, nil
}
