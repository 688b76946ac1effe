package repocheck

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
)

// vagueNames say nothing about what lives in a package.
var vagueNames = []string{"util", "utils", "common", "helper", "helpers", "misc", "types"}

func checkPackageNames(tree *Tree) []Finding {
	var findings []Finding
	for dir, files := range tree.packages(func(*GoFile) bool { return true }) {
		for _, name := range []string{path.Base(dir), files[0].AST.Name.Name} {
			if slices.Contains(vagueNames, name) {
				findings = append(findings, findingf(dir, "%q says nothing about what lives there: name the concept", name))
				break
			}
		}
	}
	return sorted(findings)
}

// checkSkips refuses skipped tests: what a machine lacks is named by the
// Makefile before the tests start, and a test that cannot run is a failure.
func checkSkips(tree *Tree) []Finding {
	var findings []Finding
	skips := []string{"Skip", "Skipf", "SkipNow"}
	receivers := []string{"t", "b", "f", "tb", "rt"}
	eachCall(tree, func(file *GoFile, call *ast.CallExpr, receiver, name string) {
		if slices.Contains(receivers, receiver) && slices.Contains(skips, name) {
			findings = append(findings, findingf(tree.at(call.Pos()),
				"%s.%s: nothing is skipped; let the test fail and say what is missing, or use testing.Short() to choose a smaller case", receiver, name))
		}
	})
	return sorted(findings)
}

// checkSleeps refuses time.Sleep. Inside a synctest bubble time is fake, so
// tests that import testing/synctest may use it.
func checkSleeps(tree *Tree) []Finding {
	var findings []Finding
	eachCall(tree, func(file *GoFile, call *ast.CallExpr, receiver, name string) {
		if name != "Sleep" || receiver == "" || receiver != file.localName("time") {
			return
		}
		if file.Test && file.localName("testing/synctest") != "" {
			return
		}
		findings = append(findings, findingf(tree.at(call.Pos()),
			"time.Sleep: wait on a signal, or on internal/clock together with the context"))
	})
	return sorted(findings)
}

// eachCall visits every call of the form receiver.name(…) in hand-written code.
func eachCall(tree *Tree, visit func(file *GoFile, call *ast.CallExpr, receiver, name string)) {
	for _, file := range tree.GoFiles {
		if file.Generated {
			continue
		}
		ast.Inspect(file.AST, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
				visit(file, call, identName(selector.X), selector.Sel.Name)
			}
			return true
		})
	}
}

func identName(expr ast.Expr) string {
	if ident, ok := expr.(*ast.Ident); ok {
		return ident.Name
	}
	return ""
}

// checkInits refuses init functions: importing a package changes nothing.
func checkInits(tree *Tree) []Finding {
	var findings []Finding
	for _, file := range tree.GoFiles {
		for _, decl := range file.AST.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok && fn.Recv == nil && fn.Name.Name == "init" && !file.Generated {
				findings = append(findings, findingf(tree.at(fn.Pos()),
					"init function: importing a package may have no effect; build the value where it is used and pass it"))
			}
		}
	}
	return sorted(findings)
}

// oneWayOut lists the rooms that may open HTTP connections: egress decides about
// addresses for the whole server, client is a library that runs elsewhere.
var oneWayOut = []string{"internal/egress", "client"}

// httpDoors are the names of net/http that send a request without asking
// internal/egress. A pointer type such as *http.Client in a signature is fine.
var httpDoors = []string{
	"Client", "Transport", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm",
}

// checkHTTPClients finds every other way out of the server.
func checkHTTPClients(tree *Tree) []Finding {
	var findings []Finding
	for _, file := range tree.GoFiles {
		home, _ := roomOf(file.Dir)
		if file.Test || home.kind == support || home.kind == tooling || slices.Contains(oneWayOut, home.path) {
			continue
		}
		for _, door := range outwardDoors(file) {
			findings = append(findings, findingf(tree.at(door.pos),
				"%s opens a way out beside internal/egress: take a client from egress, which resolves, pins and checks the address", door.name))
		}
	}
	return sorted(findings)
}

type door struct {
	name string
	pos  token.Pos
}

func outwardDoors(file *GoFile) []door {
	httpName, socketName := file.localName("net/http"), file.localName("github.com/coder/websocket")
	var doors []door
	ast.Inspect(file.AST, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.StarExpr:
			// A pointer to a client is a client somebody else has built.
			_, selects := node.X.(*ast.SelectorExpr)
			return !selects
		case *ast.SelectorExpr:
			owner := identName(node.X)
			opensHTTP := owner != "" && owner == httpName && slices.Contains(httpDoors, node.Sel.Name)
			opensSocket := owner != "" && owner == socketName && node.Sel.Name == "Dial"
			if opensHTTP || opensSocket {
				doors = append(doors, door{owner + "." + node.Sel.Name, node.Pos()})
			}
		}
		return true
	})
	return doors
}
