// Package command is the command line of Loam.
//
// Every command is a struct whose fields are its flags and whose Run method does the work. serve, doctor and some of keys open
// the data; all others are clients of a running server that sign their actions with a key, the owner's by default. A failure
// is one message on standard error that says what to do, and an exit code (package exitcode); there is never a stack trace.
// Standard output carries answers and lists only, so that it can be piped; every list has --json.
//
// The room is tier 8 together with server: command stands on it, and cmd/loam on command. Below this folder, setting finds
// values of settings, exitcode numbers the failures, and chat shows a conversation.
package command

//go:generate go test -run "TestReferenceDocumentsAreCurrent|TestHelp" -update .
