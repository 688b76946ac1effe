// Package script runs programs that agents write: durable ones, which wait for days without holding memory and go on after a
// crash as if nothing had happened (seeds/000 "Script child").
//
// A program is one module that exports an async function of (input, ctx). Everything outside crosses ctx, and whatever crosses
// is written to the run's journal before the program hears of it. To go on, a program is started again from the top, and the
// journal answers what it has answered before, in the order in which it did: the program finds itself where it was. Nothing
// else may therefore tell one execution from another, so a program that looks at a clock, draws a random number or reaches for
// the network is refused before it runs, with the place and what to use instead.
//
// What it promises: no effect that has a result in the journal is carried out again; a program that is killed at any moment
// goes on; a program cannot harm the server, see package quickjs. What it does not promise: that an effect which was begun and
// has no result was not carried out; whoever carries out effects decides what becomes of those.
//
// script is part of tier 3. It imports the engine, esbuild in a process of its own, and tier 0. The engine of runs calls it
// and gives it a Journal and Effects.
package script
