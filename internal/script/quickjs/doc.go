// Package quickjs runs JavaScript that nobody has to trust: QuickJS-NG, compiled to WebAssembly and translated to Go, so that a
// program lives inside a slice of bytes and reaches nothing but the one function its host gives it.
//
// What it promises: a program ends when it has used its fuel, when it wants more memory than it may have, or when it is stopped
// from outside, wherever it is at that moment, also inside a builtin function, and the server goes on. The same program with
// the same answers of its host does the same, on every machine: there is no clock, no randomness and no timer in a realm that
// the host does not provide. What it does not promise: that a program is quick.
//
// The engine is built, not committed: without the build tag "script" NewImage answers ErrAbsent. See `make script-engine`.
//
// quickjs is part of tier 3. It imports the translated engine only; package script calls it.
package quickjs

import (
	"errors"
	"time"
)

// Errors of NewImage and of the calls of a realm. After any of the last four a realm is of no more use.
var (
	// ErrAbsent says that this binary was built without the engine.
	ErrAbsent = errors.New("this binary was built without the script engine: build it with make build")
	// ErrFuel says that a call computed for longer than it may.
	ErrFuel = errors.New("the program computed for too long without waiting for anything")
	// ErrMemory says that a program wanted more memory than it may have. It cannot catch that.
	ErrMemory = errors.New("the program wanted more memory than it may have")
	// ErrStopped says that Stop ended the call.
	ErrStopped = errors.New("the program was stopped")
	// ErrTrap says that the engine itself gave up, such as when its memory was full at a place where it cannot go on.
	ErrTrap = errors.New("the script engine gave up")
)

// Exception is what a program threw and did not catch.
type Exception struct {
	// Message is the exception as text, such as "TypeError: x is not a function".
	Message string
	// Stack are the places, one a line, as the engine writes them ("    at main (workflow.js:3:9)"); empty when what was thrown
	// is no error.
	Stack string
}

// Error implements error.
func (e *Exception) Error() string { return e.Message }

// Host answers what a program asks with __host(kind, payload). When ok is false the program gets undefined. It is called by the
// goroutine that runs the realm and must not call the realm.
type Host func(kind, payload string) (answer string, ok bool)

// Limits of a realm.
type Limits struct {
	// Memory is what the program's values may take, in bytes. The realm itself takes about a megabyte and a half more.
	Memory int64
	// Fuel is how long one call may compute, in turns of the engine's loops, those of builtin functions included. The same program
	// uses the same on every machine.
	Fuel int64
	// Time bounds one call on the clock of the machine, for builtin functions that move much memory in few turns. It is there for
	// the server: a program that is fine has used its fuel long before. Zero is no bound.
	Time time.Duration
}

// Realm is one program's world. Its methods are called by one goroutine at a time, but for Stop.
type Realm interface {
	// Module evaluates an ES module and leaves the promise of its namespace in the global variable __module. Names in stacks are
	// those of name. The error is an *Exception when the module does not parse or throws.
	Module(name, source string) error
	// Call calls a global function with texts, and then runs the jobs that are due until none is.
	Call(function string, args ...string) error
	// Stop ends the call that runs, and every later one, from any goroutine.
	Stop()
}
