package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
)

// check stands at the head of every loop, the engine's own and those of its builtins: it counts the turns, and looks now and then
// whether they were enough.
const check = "\nif m.fuel--; m.fuel&1023 == 0 { m.check() }\n"

// added is what the translated package gets besides.
const added = `
// Errors that a call panics with: after Stop, and when its fuel is used up. The instance is not usable afterwards.
var (
	ErrStopped = errors.New("stopped")
	ErrSpent   = errors.New("out of fuel")
)

// SetFuel says how many turns of loops are allowed from now on, to within 1024. It panics with ErrStopped after Stop.
func (m *Module) SetFuel(turns int64) {
	m.fuel = turns
	m.check()
}

func (m *Module) check() {
	switch {
	case m.stop.Load():
		panic(ErrStopped)
	case m.fuel < 0:
		panic(ErrSpent)
	}
}

// Stop ends the call that runs, from any goroutine, and every later one.
func (m *Module) Stop() { m.stop.Store(true) }

// StackPointer is where the stack of the program stands, part of an image of the instance.
func (m *Module) StackPointer() int32 { return m.g0 }
`

// replacement changes one place of the translation. That it is found exactly so often proves that the pass still fits the
// program that wrote it.
type replacement struct {
	old, new string
	count    int
}

var replacements = []replacement{
	{"import (\n", "import (\n\t\"errors\"\n\t\"sync/atomic\"\n", 1},
	{"type Module struct {\n", "type Module struct {\n\tstop     atomic.Bool\n\tfuel     int64\n\tmaxPages int64\n", 1},
	{
		"func New(v0 Xenv, v1 Xwasi_snapshot_preview1) *Module {\n\tm := new(Module)\n",
		"// New makes an instance with at most maxPages of 64 KiB. One without an image has to be initialized; one with an image\n" +
			"// goes on where the instance stood that it was taken of, and owns the memory it is given.\n" +
			"func New(v0 Xenv, v1 Xwasi_snapshot_preview1, maxPages int64, image []byte, stackPointer int32) *Module {\n" +
			"\tm := new(Module)\n\tm.maxPages = maxPages\n",
		1,
	},
	{"\tm.memory = make([]byte, 0x120000)\n", "\tif m.memory = image; image == nil {\n\t\tm.memory = make([]byte, 0x120000)\n\t}\n", 1},
	{"\tmemory_init(m.memory, data[0:116756]", "\tif image == nil {\n\t\tmemory_init(m.memory, data[0:116756]", 1},
	{"len(data[0:116756]))\n\tm.g0 = i32(0x100000)\n", "len(data[0:116756]))\n\t}\n\tm.g0 = i32(0x100000)\n\tif image != nil {\n\t\tm.g0 = stackPointer\n\t}\n", 1},
	{", maxMem)", ", m.maxPages)", 2},
}

// guard adds the checks and the bounds to what wasm2go wrote.
func guard(text []byte) ([]byte, error) {
	heads, err := loopHeads(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	done := 0
	for _, at := range heads {
		out.Write(text[done:at])
		out.WriteString(check)
		done = at
	}
	out.Write(text[done:])
	text = out.Bytes()
	for _, r := range replacements {
		if n := bytes.Count(text, []byte(r.old)); n != r.count {
			return nil, fmt.Errorf("%q stands %d times in the translation, not %d: does the pass fit this version of wasm2go?", r.old, n, r.count)
		}
		text = bytes.ReplaceAll(text, []byte(r.old), []byte(r.new))
	}
	text, err = format.Source(append(text, added...))
	if err != nil {
		return nil, fmt.Errorf("format the translation: %w", err)
	}
	return text, nil
}

// loopHeads are the places behind the labels that something further down jumps back to, in order: all loops of WebAssembly
// are written that way. Functions that are no methods of the module have no loops to stop.
func loopHeads(text []byte) ([]int, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "quickjs.go", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse the translation: %w", err)
	}
	var heads []int
	for _, decl := range file.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		labels := map[string]*ast.LabeledStmt{}
		ast.Inspect(fn, func(n ast.Node) bool {
			if l, ok := n.(*ast.LabeledStmt); ok {
				labels[l.Label.Name] = l
			}
			return true
		})
		loops := map[string]bool{}
		ast.Inspect(fn, func(n ast.Node) bool {
			if b, ok := n.(*ast.BranchStmt); ok && b.Label != nil {
				if l := labels[b.Label.Name]; l != nil && b.Pos() > l.Pos() {
					loops[b.Label.Name] = true
				}
			}
			return true
		})
		if len(loops) > 0 && fn.Recv == nil {
			return nil, fmt.Errorf("%s loops and has no module to ask whether to stop", fn.Name.Name)
		}
		for name := range loops {
			heads = append(heads, files.Position(labels[name].Colon).Offset+1)
		}
	}
	slices.Sort(heads)
	return heads, nil
}
