//go:build script

package quickjs

import "encoding/binary"

// The methods below are what the engine imports. Names and signatures are those of its WebAssembly module.

// Xhost_call is a call of __host.
func (r *realm) Xhost_call(_, _, _, argc, argv int32) int32 {
	if argc < 2 {
		return r.module.Xqjs_get_undefined()
	}
	argument := func(i uint32) string {
		return r.read(int32(binary.LittleEndian.Uint32(r.memory()[uint32(argv)+4*i:])))
	}
	answer, ok := r.host(argument(0), argument(1))
	if !ok {
		return r.module.Xqjs_get_undefined()
	}
	return r.text(answer)
}

// Xhost_interrupt is not asked: fuel ends programs, see guard.
func (*realm) Xhost_interrupt() int32 { return 0 }

// Xhost_get_timezone_offset says that a realm is in UTC.
func (*realm) Xhost_get_timezone_offset(_, _ int32) int32 { return 0 }

// Xhost_module_load finds no module: a program is one file.
func (*realm) Xhost_module_load(_, _ int32) int32 { return 0 }

// Xhost_module_normalize finds none either.
func (*realm) Xhost_module_normalize(_, _ int32) int32 { return 0 }

// Xhost_promise_rejection is told of rejections that nobody handles; a program may handle them later.
func (*realm) Xhost_promise_rejection(_, _, _ int32) {}

// system is the part of WASI that the engine imports: a clock that stands still, randomness that is none, no files.
type system struct{ realm *realm }

// badFile is WASI's errno for a file that is not open.
const badFile = 8

// Xclock_time_get says that it is the beginning of the epoch: what a program may know of time comes through its host.
func (s system) Xclock_time_get(_ int32, _ int64, result int32) int32 {
	binary.LittleEndian.PutUint64(s.realm.memory()[uint32(result):], 0)
	return 0
}

// Xrandom_get gives the same bytes to every realm: they only seed hashes.
func (s system) Xrandom_get(at, n int32) int32 {
	m := s.realm.memory()[uint32(at):]
	for i := range m[:uint32(n)] {
		m[i] = 0x42
	}
	return 0
}

// Xfd_close implements WASI.
func (system) Xfd_close(int32) int32 { return badFile }

// Xfd_fdstat_get implements WASI.
func (system) Xfd_fdstat_get(_, _ int32) int32 { return badFile }

// Xfd_seek implements WASI.
func (system) Xfd_seek(_ int32, _ int64, _, _ int32) int32 { return badFile }

// Xfd_write implements WASI.
func (system) Xfd_write(_, _, _, _ int32) int32 { return badFile }
