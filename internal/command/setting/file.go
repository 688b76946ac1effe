package setting

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// DefaultFile is read from the current folder when no other file is named.
const DefaultFile = "loam.yaml"

// maxFile bounds a configuration file, in bytes.
const maxFile = 1 << 20

// File is what a configuration file says.
type File struct {
	path   string
	values map[string]entry
}

// entry is a value in the form of the command line.
type entry struct {
	text string
	line int
}

// Load reads a file. An empty path reads DefaultFile if there is one.
func Load(path string) (File, error) {
	named := path != ""
	if !named {
		path = DefaultFile
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return File{}, nil
	}
	if err != nil {
		return File{}, fmt.Errorf("configuration file: %w", err)
	}
	if info.Size() > maxFile {
		return File{}, fmt.Errorf("configuration file %s is larger than %d bytes", path, maxFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return File{}, fmt.Errorf("configuration file: %w", err)
	}
	return Parse(path, text)
}

// Parse reads the text of a configuration file: one mapping from settings to a value, a list, or a mapping for settings of
// the form NAME=VALUE. Errors begin with the path and mostly name a line.
func Parse(path string, text []byte) (File, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return File{}, fmt.Errorf("%s: %w", path, err)
	}
	file := File{path: path, values: map[string]entry{}}
	if len(doc.Content) == 0 {
		return file, nil
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return file, nil
	}
	if root.Kind != yaml.MappingNode {
		return File{}, fmt.Errorf("%s:%d: a configuration is a list of lines such as \"listen: 127.0.0.1:3050\"", path, root.Line)
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if _, twice := file.values[key.Value]; twice {
			return File{}, fmt.Errorf("%s:%d: %q stands there twice", path, key.Line, key.Value)
		}
		text, err := flagText(value)
		if err != nil {
			return File{}, fmt.Errorf("%s:%d: %s: %w", path, key.Line, key.Value, err)
		}
		file.values[key.Value] = entry{text: text, line: key.Line}
	}
	return file, nil
}

// flagText writes a value as the command line would.
func flagText(node *yaml.Node) (string, error) {
	switch node.Kind {
	case yaml.ScalarNode:
		if node.Tag == "!!null" {
			return "", errors.New("the value is missing")
		}
		return node.Value, nil
	case yaml.SequenceNode:
		return joined(node.Content, 1, ",")
	case yaml.MappingNode:
		return joined(node.Content, 2, ";")
	}
	return "", errors.New("references are not supported")
}

// joined writes the items of a list, or the pairs of a mapping, with a separator that none of them holds.
func joined(nodes []*yaml.Node, width int, separator string) (string, error) {
	var items []string
	for group := range slices.Chunk(nodes, width) {
		parts := make([]string, len(group))
		for i, node := range group {
			if node.Kind != yaml.ScalarNode || node.Tag == "!!null" {
				return "", errors.New("only text and numbers may stand inside")
			}
			if strings.Contains(node.Value, separator) {
				return "", fmt.Errorf("%q must not contain %q", node.Value, separator)
			}
			parts[i] = node.Value
		}
		items = append(items, strings.Join(parts, "="))
	}
	return strings.Join(items, separator), nil
}

// check refuses keys that are not known.
func (f File) check(known map[string]bool) error {
	var wrong []string
	for key, e := range f.values {
		if !known[key] {
			wrong = append(wrong, fmt.Sprintf("%s:%d: unknown key %q", f.path, e.line, key))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return errors.New(strings.Join(wrong, "; "))
}
