//go:build script

package quickjs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/loam-agents/loam/internal/script/quickjs/translated"
)

// Available tells whether this binary has the engine.
const Available = true

// Version names the engine: the hash of the program that was translated.
const Version = "quickjs-" + translated.Hash

const (
	pageSize = 64 << 10
	// stackSize is what the program's calls may take of the engine's stack of 1 MiB; the rest is for builtins and errors.
	stackSize = 512 << 10
	// overhead is what the engine needs beside the values that its own limit counts.
	overhead = 8 << 20
	// initialPages bounds an image, which is made of our own program.
	initialPages = 64 << 20 / pageSize

	evalModule = 1

	// outOfMemory is the text of the one error that the engine throws past every catch besides the end of fuel.
	outOfMemory = "InternalError: out of memory"
)

// Image is a realm that has run a first program, ready to be copied. It never changes.
type Image struct {
	memory       []byte
	stackPointer int32
	handles      handles
	// allocated is what the values of the image take, in bytes.
	allocated int64
}

// handles are the engine's references to values that every call needs.
type handles struct {
	length, arguments, undefined, global int32
}

// NewImage runs a program, such as one that defines the functions that others find, and keeps what it left.
func NewImage(name, source string) (*Image, error) {
	r := &realm{host: func(string, string) (string, bool) { return "", false }, limits: Limits{Fuel: 1 << 32}}
	r.module = translated.New(r, system{r}, initialPages, nil, 0)
	err := r.guard(func() error {
		r.module.X_initialize()
		if r.module.Xqjs_init() != 0 {
			return ErrTrap
		}
		r.handles = handles{
			length: r.module.Xwasm_malloc(4), arguments: r.module.Xwasm_malloc(4 * maxArguments),
			undefined: r.module.Xqjs_get_undefined(), global: r.module.Xqjs_get_global(),
		}
		r.module.Xqjs_set_max_stack_size(stackSize)
		r.define("__host")
		return r.evaluate(name, source, 0, func(int32) {})
	})
	if err != nil {
		return nil, fmt.Errorf("make the image of a realm: %w", err)
	}
	return &Image{
		memory: slices.Clip(r.memory()), stackPointer: r.module.StackPointer(), handles: r.handles, allocated: int64(r.module.Xqjs_get_allocated_size()),
	}, nil
}

// New copies the image.
func (img *Image) New(host Host, limits Limits) Realm {
	r := &realm{host: host, limits: limits, handles: img.handles}
	pages := (limits.Memory+overhead)/pageSize + int64(len(img.memory)/pageSize)
	r.module = translated.New(r, system{r}, pages, slices.Clone(img.memory), img.stackPointer)
	r.module.Xqjs_set_memory_limit(int32(limits.Memory + img.allocated))
	return r
}

// maxArguments bounds those of a Call, and of a call of the host.
const maxArguments = 8

// realm implements Realm and what the engine asks of its host.
type realm struct {
	module  *translated.Module
	handles handles
	host    Host
	limits  Limits
	// dead is why the realm cannot be called any more.
	dead error
}

// Module implements Realm.
func (r *realm) Module(name, source string) error {
	return r.guard(func() error {
		return r.evaluate(name, source, evalModule, func(promise int32) {
			key := r.write("__module")
			r.module.Xqjs_set_prop_string(r.handles.global, key, promise)
			r.module.Xwasm_free(key)
		})
	})
}

// Call implements Realm.
func (r *realm) Call(function string, args ...string) error {
	return r.guard(func() error {
		if len(args) > maxArguments {
			return fmt.Errorf("%d arguments, at most %d", len(args), maxArguments)
		}
		key := r.write(function)
		fn := r.module.Xqjs_get_prop_string(r.handles.global, key)
		r.module.Xwasm_free(key)
		values := make([]int32, len(args))
		for i, a := range args {
			values[i] = r.text(a)
		}
		for i, v := range values {
			binary.LittleEndian.PutUint32(r.memory()[int(r.handles.arguments)+4*i:], uint32(v))
		}
		result := r.module.Xqjs_call(fn, r.handles.undefined, int32(len(args)), r.handles.arguments)
		for _, v := range append(values, fn) {
			r.module.Xqjs_free_value(v)
		}
		return r.outcome(result, func(int32) {})
	})
}

// Stop implements Realm.
func (r *realm) Stop() { r.module.Stop() }

// guard runs fn with a full tank and turns what the engine panics with into an error that stays.
func (r *realm) guard(fn func() error) (err error) {
	if r.dead != nil {
		return r.dead
	}
	var late atomic.Bool
	if r.limits.Time > 0 {
		timer := time.AfterFunc(r.limits.Time, func() {
			late.Store(true)
			r.module.Stop()
		})
		defer timer.Stop()
	}
	defer func() {
		switch p := recover(); {
		case p == nil:
			return
		case p == any(translated.ErrSpent), late.Load():
			r.dead = ErrFuel
		case p == any(translated.ErrStopped):
			r.dead = ErrStopped
		default:
			r.dead = fmt.Errorf("%w: %v", ErrTrap, p)
		}
		err = r.dead
	}()
	r.module.SetFuel(r.limits.Fuel)
	return fn()
}

// evaluate runs a text, and then the jobs that are due. use gets the value it led to.
func (r *realm) evaluate(name, source string, flags int32, use func(value int32)) error {
	code, file := r.write(source), r.write(name)
	value := r.module.Xqjs_eval(code, int32(len(source)), file, flags)
	r.module.Xwasm_free(code)
	r.module.Xwasm_free(file)
	return r.outcome(value, use)
}

// outcome takes the value of a call: an exception becomes an error, anything else is used, and the jobs that are due are run.
func (r *realm) outcome(value int32, use func(value int32)) error {
	defer r.module.Xqjs_free_value(value)
	if r.module.Xqjs_is_exception(value) != 0 {
		return r.exception()
	}
	use(value)
	for r.module.Xqjs_is_job_pending() != 0 {
		if r.module.Xqjs_execute_pending_job() < 0 {
			return r.exception()
		}
	}
	return nil
}

// exception takes what was thrown.
func (r *realm) exception() error {
	value := r.module.Xqjs_get_exception()
	defer r.module.Xqjs_free_value(value)
	out := &Exception{Message: r.read(value)}
	if out.Message == outOfMemory {
		r.dead = ErrMemory
		return ErrMemory
	}
	if r.module.Xqjs_is_error(value) != 0 {
		key := r.write("stack")
		stack := r.module.Xqjs_get_prop_string(value, key)
		r.module.Xwasm_free(key)
		out.Stack = strings.TrimRight(r.read(stack), "\n")
		r.module.Xqjs_free_value(stack)
	}
	return out
}

// define makes the host callable under a global name.
func (r *realm) define(name string) {
	key := r.write(name)
	fn := r.module.Xqjs_new_host_function(key, int32(len(name)), 2)
	r.module.Xqjs_set_prop_string(r.handles.global, key, fn)
	r.module.Xqjs_free_value(fn)
	r.module.Xwasm_free(key)
}

func (r *realm) memory() []byte { return *r.module.Slice() }

// write puts a text with a zero behind it into the realm's memory. The caller frees it.
func (r *realm) write(s string) int32 {
	p := r.module.Xwasm_malloc(int32(len(s) + 1))
	if p == 0 {
		panic(errors.New("no memory for a text"))
	}
	m := r.memory()
	copy(m[uint32(p):], s)
	m[int(uint32(p))+len(s)] = 0
	return p
}

// text makes a string value.
func (r *realm) text(s string) int32 {
	p := r.write(s)
	v := r.module.Xqjs_new_string(p, int32(len(s)))
	r.module.Xwasm_free(p)
	return v
}

// read is a value as text; empty when it cannot be turned into one.
func (r *realm) read(value int32) string {
	p := r.module.Xqjs_get_string_len(value, r.handles.length)
	if p == 0 {
		r.module.Xqjs_free_value(r.module.Xqjs_get_exception())
		return ""
	}
	m := r.memory()
	n := binary.LittleEndian.Uint32(m[uint32(r.handles.length):])
	s := string(m[uint32(p) : uint32(p)+n])
	r.module.Xqjs_free_cstring(p)
	return s
}
