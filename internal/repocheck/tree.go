package repocheck

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Module is the import path of the repository's module.
const Module = "github.com/loam-agents/loam"

// Tree is a snapshot of the repository's files.
type Tree struct {
	// GoFiles are the Go sources outside testdata folders, in path order.
	GoFiles []*GoFile
	// Texts holds every file below maxTextBytes that is not binary, Go sources
	// included, by slash-separated path from the root.
	Texts map[string]string
	// Paths has every file and, with a trailing slash left out, every folder.
	Paths map[string]bool

	fset *token.FileSet
}

// GoFile is one parsed Go source.
type GoFile struct {
	// Path is slash-separated and relative to the root.
	Path string
	// Dir is the folder of the file; "." for the root.
	Dir string
	// Test says that the name ends in _test.go.
	Test bool
	// Generated says that the file carries the standard mark of generated code.
	Generated bool
	// Lines is the number of lines.
	Lines int
	// AST has comments; positions resolve through the tree that loaded it.
	AST *ast.File
}

// maxTextBytes bounds what the text rules read; nothing written by hand comes
// near, and test vectors may be larger.
const maxTextBytes = 1 << 20

// ignoredFolders are outputs and foreign code at any depth. Those that stand in
// .gitignore are repeated here because the tree is also checked where there is
// no git, such as in an unpacked archive.
var ignoredFolders = []string{".git", ".cache", "bin", "dist", "loam-data", "node_modules", "translated"}

// Load reads and parses the tree beneath root. A Go file that does not parse is
// an error, since no rule could be trusted after it.
func Load(root fs.FS) (*Tree, error) {
	tree := &Tree{Texts: map[string]string{}, Paths: map[string]bool{}, fset: token.NewFileSet()}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if slices.Contains(ignoredFolders, entry.Name()) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			// A checkout beside another has a file of that name.
			return nil
		}
		tree.Paths[name] = true
		if !entry.Type().IsRegular() {
			return nil
		}
		return tree.addFile(root, name, entry)
	})
	if err != nil {
		return nil, fmt.Errorf("loading the tree: %w", err)
	}
	return tree, nil
}

func (t *Tree) addFile(root fs.FS, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	if info.Size() > maxTextBytes {
		return nil
	}
	source, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	if bytes.IndexByte(source, 0) >= 0 {
		return nil
	}
	t.Texts[name] = string(source)
	if path.Ext(name) != ".go" || inTestdata(name) {
		return nil
	}
	parsed, err := parser.ParseFile(t.fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.GoFiles = append(t.GoFiles, &GoFile{
		Path:      name,
		Dir:       path.Dir(name),
		Test:      strings.HasSuffix(name, "_test.go"),
		Generated: ast.IsGenerated(parsed),
		Lines:     bytes.Count(source, []byte("\n")),
		AST:       parsed,
	})
	return nil
}

func inTestdata(name string) bool {
	return slices.Contains(strings.Split(name, "/"), "testdata")
}

// packages groups the Go files that keep accepts by their folder.
func (t *Tree) packages(keep func(*GoFile) bool) map[string][]*GoFile {
	byDir := map[string][]*GoFile{}
	for _, file := range t.GoFiles {
		if keep(file) {
			byDir[file.Dir] = append(byDir[file.Dir], file)
		}
	}
	return byDir
}

// at gives a position as "path:line".
func (t *Tree) at(pos token.Pos) string {
	position := t.fset.Position(pos)
	return position.Filename + ":" + strconv.Itoa(position.Line)
}

// lines is the number of lines a node spans.
func (t *Tree) lines(node ast.Node) int {
	return t.fset.Position(node.End()).Line - t.fset.Position(node.Pos()).Line + 1
}

// imports lists the import paths of a file with their positions.
func (f *GoFile) imports() []importSpec {
	var specs []importSpec
	for _, spec := range f.AST.Imports {
		// The parser has accepted the literal, so it unquotes.
		target, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(target)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		specs = append(specs, importSpec{path: target, name: name, pos: spec.Pos()})
	}
	return specs
}

type importSpec struct {
	path, name string
	pos        token.Pos
}

// localName is the name under which a file refers to an imported package, or ""
// when the file does not import it.
func (f *GoFile) localName(importPath string) string {
	for _, spec := range f.imports() {
		if spec.path == importPath {
			return spec.name
		}
	}
	return ""
}
