package rest_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// comments reads what the doc comments of structs and their fields say, under the names of their JSON.
func comments(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range file.Decls {
				if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.TYPE {
					describeType(out, d)
				}
			}
		}
	}
	return out
}

func describeType(out map[string]string, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		s := spec.(*ast.TypeSpec)
		body, ok := s.Type.(*ast.StructType)
		if !ok || !s.Name.IsExported() {
			continue
		}
		names := map[string]string{}
		for _, f := range body.Fields.List {
			if len(f.Names) == 1 {
				names[f.Names[0].Name] = tagged(f)
			}
		}
		doc := s.Doc
		if doc == nil {
			doc = d.Doc
		}
		keep(out, s.Name.Name, s.Name.Name, doc.Text(), names)
		for _, f := range body.Fields.List {
			if len(f.Names) == 1 && tagged(f) != "" {
				keep(out, s.Name.Name+"."+tagged(f), f.Names[0].Name, f.Doc.Text(), names)
			}
		}
	}
}

// tagged is the JSON name of a field.
func tagged(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
	return name
}

// source is a reference to a document that readers of the API do not have.
var source = regexp.MustCompile(` \((spec|seeds|design)[^)]*\)`)

var word = regexp.MustCompile(`\b[A-Z]\w*\b`)

// keep stores a comment as a sentence without the Go name that it begins with, and with the JSON names of other fields.
func keep(out map[string]string, key, name, text string, fields map[string]string) {
	text = source.ReplaceAllString(strings.Join(strings.Fields(text), " "), "")
	if text == "" {
		return
	}
	for _, verb := range []string{" is ", " are ", " "} {
		if rest, ok := strings.CutPrefix(text, name+verb); ok {
			text = strings.ToUpper(rest[:1]) + rest[1:]
			break
		}
	}
	out[key] = word.ReplaceAllStringFunc(text, func(w string) string {
		if wire := fields[w]; wire != "" && w != strings.Fields(text)[0] {
			return "`" + wire + "`"
		}
		return w
	})
}

func TestTheDescriptionsAreThoseOfTheSource(t *testing.T) {
	t.Parallel()
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(comments(t, "../../../wire/*.go", "../../operation/fields.go", "*.go")); err != nil {
		t.Fatal(err)
	}
	golden(t, "descriptions.json", body.Bytes())
}
