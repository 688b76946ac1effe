// Package crashtest kills the real server and checks what is left (design "Proof", "Runs").
//
// The server runs as a process of its own (loamd) on a real database; the test drives it over the wire with a scripted model
// and ends it with SIGKILL: at every named point (package matrix has the table), or at a random moment. It is started again on the same data, and
// everything that was ever promised is checked through the wire:
//
//   - a user's message that was answered, or that is sent again byte for byte, stands in the log exactly once;
//   - every call has exactly one result, which stands before the agent speaks again;
//   - an effect and its result are there both or not at all, and never twice;
//   - every run has ended, the seqs are dense, and each written generation is counted once.
//
// A killed process proves nothing about fsync, since the kernel survives it; the tests of internal/store/sqlite prove that
// by system calls.
//
// The tests run in `make test` with the first kills of the table and a few random ones; `make crash` makes all of them and many random
// ones (LOAM_CRASH_ROUNDS, LOAM_CRASH_SEED). docs/reliability.md says what is checked. The package is test support.
package crashtest
