package repocheck

import (
	"go/ast"
	"go/token"
	"strings"
)

// minPackageComment is the least number of words a package comment has. A
// sentence that says what the package is for and what it promises is longer.
const minPackageComment = 8

func handwritten(file *GoFile) bool { return !file.Test && !file.Generated }

// checkPackageComments wants one comment per package that says what it is for.
func checkPackageComments(tree *Tree) []Finding {
	var findings []Finding
	for dir, files := range tree.packages(handwritten) {
		var comments []string
		for _, file := range files {
			if file.AST.Doc != nil {
				comments = append(comments, file.AST.Doc.Text())
			}
		}
		switch {
		case len(comments) == 0:
			findings = append(findings, Finding{dir, "no package comment: say what the package is for, what it promises, its tier and whom it may call"})
		case len(comments) > 1:
			findings = append(findings, Finding{dir, "more than one package comment: keep one, in doc.go or the file named after the package"})
		case len(strings.Fields(comments[0])) < minPackageComment:
			findings = append(findings, Finding{dir, "the package comment is too short to say what the package is for and what it promises"})
		}
	}
	return sorted(findings)
}

// checkExportedDocs wants a comment on every exported type, function, method,
// constant, variable and interface method. A comment on a const or var group
// speaks for its members.
func checkExportedDocs(tree *Tree) []Finding {
	var findings []Finding
	for _, file := range tree.GoFiles {
		if !handwritten(file) {
			continue
		}
		for _, decl := range file.AST.Decls {
			for _, name := range undocumented(decl) {
				findings = append(findings, findingf(tree.at(name.Pos()),
					"%s is exported without a comment: give shapes, units, limits and errors", name.Name))
			}
		}
	}
	return sorted(findings)
}

func undocumented(decl ast.Decl) []*ast.Ident {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Doc == nil && decl.Name.IsExported() && exportedReceiver(decl) {
			return []*ast.Ident{decl.Name}
		}
	case *ast.GenDecl:
		if decl.Tok != token.IMPORT {
			return undocumentedSpecs(decl)
		}
	}
	return nil
}

// exportedReceiver says whether a reader of the documentation can meet the
// method: it belongs to an exported type, or it is a function.
func exportedReceiver(decl *ast.FuncDecl) bool {
	if decl.Recv == nil || len(decl.Recv.List) == 0 {
		return true
	}
	expr := decl.Recv.List[0].Type
	for {
		switch x := expr.(type) {
		case *ast.StarExpr:
			expr = x.X
		case *ast.IndexExpr:
			expr = x.X
		case *ast.IndexListExpr:
			expr = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

func undocumentedSpecs(decl *ast.GenDecl) []*ast.Ident {
	var names []*ast.Ident
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			if decl.Doc == nil && spec.Doc == nil && spec.Comment == nil {
				names = append(names, exportedOnly(spec.Names)...)
			}
		case *ast.TypeSpec:
			if !spec.Name.IsExported() {
				continue
			}
			if spec.Doc == nil && spec.Comment == nil && (decl.Doc == nil || decl.Lparen.IsValid()) {
				names = append(names, spec.Name)
			}
			if contract, ok := spec.Type.(*ast.InterfaceType); ok {
				names = append(names, undocumentedMethods(contract)...)
			}
		}
	}
	return names
}

func undocumentedMethods(contract *ast.InterfaceType) []*ast.Ident {
	var names []*ast.Ident
	for _, method := range contract.Methods.List {
		if method.Doc == nil && method.Comment == nil {
			names = append(names, exportedOnly(method.Names)...)
		}
	}
	return names
}

func exportedOnly(names []*ast.Ident) []*ast.Ident {
	var exported []*ast.Ident
	for _, name := range names {
		if name.IsExported() {
			exported = append(exported, name)
		}
	}
	return exported
}
