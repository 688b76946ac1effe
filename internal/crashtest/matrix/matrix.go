// Package matrix is the table of the crash tests: the named points at which the real server is killed, what it was doing, and what is
// checked after its next start. The tests of internal/crashtest walk it, and docs/reliability.md is written from it. It is test support.
package matrix

import (
	"fmt"

	"github.com/loam-agents/loam/internal/engine"
	"github.com/loam-agents/loam/internal/govern"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/store/migrations"
	"github.com/loam-agents/loam/internal/trigger"
	"github.com/loam-agents/loam/internal/workflow"
)

// Databases is on how many databases every kill is made: SQLite and PostgreSQL.
const Databases = 2

// Kills at random moments and random points, on both databases together: in CI, and in full when nothing else is asked for.
const (
	RandomInCI   = 24
	RandomInFull = 2000
)

// Work is what the server does when it is killed.
type Work string

// The works.
const (
	Turns      Work = "turns"
	Long       Work = "long turn"
	Tree       Work = "delegation"
	Announced  Work = "announced delegation"
	Approval   Work = "approval"
	Script     Work = "script"
	Succession Work = "continued script"
	Firing     Work = "firing"
	Waking     Work = "waking firing"
	Start      Work = "first start"
)

// Works describes every work and what is checked after it.
var Works = []struct {
	Work   Work
	What   string
	Checks []string
}{
	{Turns, "Three messages to an agent that writes, plans and reads in several calls, each sent until it is answered; one carries an id of the client.", []string{
		"every message stands in the log once, in order, and its turn ends with the answer that was returned",
		"the same bytes, and the same client id, sent again get the same answer and change nothing",
		"every call has exactly one result, before the agent speaks again",
		"the agent's memory holds exactly what the results say, written once, with their times",
		"one run a message, all succeeded; every generation that was written is counted once",
		"seqs are dense, and a subscriber from the start gets the same events, each once",
	}},
	{Long, "A turn that waits for its model until its lease has been renewed.", []string{
		"the checks of turns",
	}},
	{Tree, "A turn that delegates two branches at once, is parked, and goes on with their results.", []string{
		"every call has started one child and has one result",
		"every child says once what it did, and every run has succeeded",
		"the root counts the usage of its children once, and its session is idle at the end",
	}},
	{Announced, "An answer that writes a file and delegates twice, so that its calls are announced before they are carried out.", []string{
		"a delegation that was only announced is begun after the start, and none is begun twice",
		"every run has succeeded",
	}},
	{Approval, "A payment at another server that a person has to approve; the person decides until the run has ended.", []string{
		"there is one payment, wherever the server dies; one that is in doubt is put before the person again and never repeated silently",
		"the call has one result, and nothing is asked any more at the end",
	}},
	{Script, "A script that writes files, two at once, sleeps, waits for a signal, delegates and pays.", []string{
		"the script returns the same as without a kill",
		"every file is written once, the child is started once, the wait is settled once",
		"there is at most one payment: none is repeated, and the script hears when one is in doubt",
		"the journal's seqs are dense and every call in it has one result",
	}},
	{Succession, "A script that goes on as a new run twice, and writes a file in each.", []string{
		"there are three runs in one row, each continued once, all succeeded",
		"every file is written once",
	}},
	{Firing, "A delivery to a webhook that begins a thread, sent with one key until it is accepted.", []string{
		"there is one firing, one session and one run, which answers",
		"the same delivery again fires nothing",
	}},
	{Waking, "A delivery to a webhook that gives a waiting script its signal.", []string{
		"the script is woken by one firing, and ends with the payload",
		"the same delivery again fires nothing",
	}},
	{Start, "The first start on an empty database, which makes the schema.", []string{
		"the next start finishes what was begun, with one first agent, and answers a message",
	}},
}

// Case is one line of the table.
type Case struct {
	// Point is the name of the point, and Moment what has just happened there.
	Point, Moment string
	Work          Work
	// Times are the occurrences of the point at which the process is killed, each in a run of its own.
	Times []int
	// CI is how many of Times are killed in CI.
	CI int
}

func first(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i + 1
	}
	return out
}

// Cases is the table.
var Cases = []Case{
	{operation.PointUserAppended, "a message is durable, its turn is queued", Turns, first(3), 1},
	{engine.PointClaimed, "a worker has claimed a turn", Turns, first(3), 1},
	{engine.PointMidStream, "a piece of the model's answer was shown", Turns, []int{1, 5, 10, 15}, 1},
	{engine.PointCallsAppended, "an answer and its calls are in the log, nothing is carried out", Turns, first(4), 1},
	{engine.PointEffectReady, "a call is carried out as far as that goes without a transaction", Turns, first(8), 2},
	{engine.PointEffectDone, "an effect and its result are in the log", Turns, first(6), 2},
	{engine.PointBeforeFinish, "the last answer was received and is not in the log", Turns, first(3), 1},

	{runs.PointRenewed, "the lease of a run was renewed", Long, []int{1}, 1},

	{engine.PointEffectReady, "a child is about to be made", Tree, first(2), 1},
	{engine.PointEffectDone, "children are made, and their parent waits", Tree, []int{1}, 0},
	{engine.PointParked, "the parent is parked", Tree, []int{1}, 1},
	{engine.PointClaimed, "a worker has claimed the parent, a child, or the parent again", Tree, first(4), 1},
	{engine.PointMidStream, "the model answers the parent or a child", Tree, []int{3, 6}, 1},
	{engine.PointBeforeFinish, "the last answer of a child or of the parent was received", Tree, first(3), 1},
	{runs.PointChildEnded, "a child has ended, and its parent has the result", Tree, first(2), 2},
	{runs.PointWoken, "the parent is queued again", Tree, []int{1}, 1},
	{engine.PointResumed, "the parent has read its log and goes on", Tree, []int{1}, 1},

	{engine.PointCallsAppended, "calls are announced, and no child is made", Announced, []int{1}, 1},
	{engine.PointEffectReady, "the file is written, a child is about to be made", Announced, []int{2, 3}, 0},
	{engine.PointEffectDone, "the file and its result are in the log", Announced, []int{1, 2}, 0},
	{engine.PointPending, "one child is made, the other one is not", Announced, first(2), 1},

	{engine.PointClaimed, "a worker has claimed the turn, or claims it after the decision", Approval, first(2), 0},
	{engine.PointCallsAppended, "the payment is announced", Approval, []int{1}, 0},
	{engine.PointEffectReady, "a person is about to be asked, or the payment was made", Approval, first(2), 2},
	{engine.PointPending, "a person is asked", Approval, []int{1}, 0},
	{engine.PointEffectDone, "a person is asked, or the payment and its result are in the log", Approval, first(2), 1},
	{engine.PointParked, "the turn is parked until there is a decision", Approval, []int{1}, 1},
	{govern.PointDecided, "the decision is durable and not acknowledged", Approval, []int{1}, 1},
	{govern.PointBegun, "the payment is marked as begun and not made", Approval, []int{1}, 1},
	{engine.PointBeforeFinish, "the last answer was received", Approval, []int{1}, 0},

	{workflow.PointStarted, "a worker begins the script, from the top", Script, first(2), 1},
	{workflow.PointActed, "a call was carried out, its result is not in the journal", Script, first(5), 2},
	{workflow.PointJournaled, "entries are in the journal", Script, first(12), 3},
	{workflow.PointDelegated, "a child is made, and the journal names it", Script, []int{1}, 1},
	{workflow.PointParked, "the script waits without a worker", Script, first(2), 1},
	{runs.PointSignaled, "a signal has settled the wait, and is not acknowledged", Script, []int{1}, 1},
	{runs.PointWoken, "the script is queued again", Script, first(2), 1},
	{runs.PointChildEnded, "the child has ended, and the journal has its result", Script, []int{1}, 1},

	{workflow.PointContinued, "a run has ended, and the one that takes over is queued", Succession, first(2), 1},
	{workflow.PointJournaled, "entries are in the journal", Succession, first(3), 0},

	{trigger.PointFired, "a firing is durable, and the delivery is not acknowledged", Firing, []int{1}, 1},
	{engine.PointClaimed, "a worker has claimed the turn that a firing began", Firing, []int{1}, 1},
	{engine.PointBeforeFinish, "the answer to a firing was received", Firing, []int{1}, 0},

	{trigger.PointFired, "a firing has woken a run, and the delivery is not acknowledged", Waking, []int{1}, 1},
	{runs.PointWoken, "the script that a firing has woken is queued again", Waking, []int{1}, 0},

	{migrations.PointMigrating, "a migration is made and not committed", Start, []int{1, 2, 5, 9, 15}, 1},
	{migrations.PointMigrated, "a migration is committed, and others are left", Start, []int{1, 2, 5, 9, 14}, 1},
}

// Kill is one kill of a case.
type Kill struct {
	Case
	Time int
}

// String is how a server is told (server.Config.CrashAt).
func (k *Kill) String() string {
	if k.Time == 1 {
		return k.Point
	}
	return fmt.Sprintf("%s:%d", k.Point, k.Time)
}

// Kills are the kills of a work on one database.
func Kills(w Work, full bool) []Kill {
	var out []Kill
	for _, c := range Cases {
		if c.Work != w {
			continue
		}
		times := c.Times
		if !full {
			times = times[:c.CI]
		}
		for _, n := range times {
			out = append(out, Kill{c, n})
		}
	}
	return out
}

// Named counts the kills at named points on all databases.
func Named(full bool) int {
	n := 0
	for _, w := range Works {
		n += len(Kills(w.Work, full))
	}
	return n * Databases
}
