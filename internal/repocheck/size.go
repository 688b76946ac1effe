package repocheck

import "go/ast"

// Limits on hand-written Go, in lines. Above the report limits a test run
// mentions the place; above the hard limits it fails.
const (
	reportFileLines = 400
	maxFileLines    = 800
	reportFuncLines = 40
	maxFuncLines    = 100
)

// checkSizes finds files and functions above the hard limits, tests included.
func checkSizes(tree *Tree) []Finding {
	return overlong(tree, maxFileLines, maxFuncLines)
}

// LongPlaces lists files and functions of the product that are longer than they
// should be though not too long to stay: worth a look when one passes by.
func LongPlaces(tree *Tree) []Finding {
	product := &Tree{fset: tree.fset}
	for _, file := range tree.GoFiles {
		if !file.Test {
			product.GoFiles = append(product.GoFiles, file)
		}
	}
	return overlong(product, reportFileLines, reportFuncLines)
}

func overlong(tree *Tree, fileLimit, funcLimit int) []Finding {
	var findings []Finding
	for _, file := range tree.GoFiles {
		if file.Generated {
			continue
		}
		if file.Lines > fileLimit {
			findings = append(findings, findingf(file.Path, "%d lines, more than %d: split it by concept", file.Lines, fileLimit))
		}
		for _, decl := range file.AST.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if lines := tree.lines(fn); lines > funcLimit {
				findings = append(findings, findingf(tree.at(fn.Pos()), "%s has %d lines, more than %d: name its steps", fn.Name.Name, lines, funcLimit))
			}
		}
	}
	return sorted(findings)
}
