package matrix

import (
	"fmt"
	"strings"
)

// Document is docs/reliability.md.
func Document() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Reliability

<!-- This document is generated from internal/crashtest/matrix: run go generate ./internal/crashtest/matrix -->

What Loam promises when its process dies at any moment, and how that is tested.

## What is promised

- **What was acknowledged stays.** A message, a delivery, a decision or a signal that was answered is on disk. One that was not answered may be
  sent again, byte for byte or under the same id, and takes effect once.
- **An effect and its record are one.** What a call changes in Loam's own database is written in the transaction that records its result: both are
  there or neither is.
- **An effect elsewhere is never repeated silently.** A call that acts outside of Loam is recorded before it is made. When the server dies in
  between, nobody knows whether it took effect: an agent is told so, a script gets an error with the code `+"`in_doubt`"+`, and of a call that a person
  has approved the person is asked again.
- **Every call is answered, nothing is stuck.** After a start all that had begun goes on by itself. A run that has killed its server more than
  10 times is failed instead of tried for ever.
- **Waits outlive everything.** Timers, signals, children and approvals that a run waits for are rows; a run that waits needs no process.
- **A trigger fires once for an event**, however often the event is heard of.

A process that is killed does not prove that the disk kept what it was told: the kernel survives. That no acknowledgement precedes the flush of its
commit is tested by the order of the system calls (internal/store/sqlite), and PostgreSQL without fsync is refused unless
its operator accepts that.

## How it is tested

The real server, with a scripted model behind real sockets, is ended with SIGKILL, on SQLite and on PostgreSQL, and started again on the same data.
Then everything is checked over the wire.

| | in CI (`+"`make test`"+`) | in full (`+"`make crash`"+`) |
|---|---|---|
| kills at named points, on both databases | %d | %d |
| kills at random moments and points, on both databases | at least %d | at least %d |
| together | at least %d | at least %d |

`, Named(false), Named(true), RandomInCI, RandomInFull, Named(false)+RandomInCI, Named(true)+RandomInFull)
	b.WriteString("The random kills go to four sessions at work at once, a tree of ten runs, and a script of twenty effects with children, again and again until\n" +
		"they have ended; half of the processes that take over die at a named point, some while they recover. Besides, a tree of depth three with thirty\n" +
		"children has to end the same under kills, a start is killed at random moments, a drain is killed, and a server dies in the middle of a payment.\n\n")
	for _, w := range Works {
		fmt.Fprintf(&b, "### %s\n\n%s Checked:\n\n", title(w.Work), w.What)
		for _, c := range w.Checks {
			fmt.Fprintf(&b, "- %s\n", c)
		}
		b.WriteString("\n| killed at | when | kills in CI | in full |\n|---|---|---|---|\n")
		for _, c := range Cases {
			if c.Work == w.Work {
				fmt.Fprintf(&b, "| `%s` | %s | %d | %d |\n", c.Point, c.Moment, c.CI*Databases, len(c.Times)*Databases)
			}
		}
		b.WriteString("\n")
	}
	b.WriteString(`## Again

` + "`make crash`" + ` prints how often the server was killed, and with a failure the seed: ` + "`LOAM_CRASH_SEED=7 make crash ROUNDS=400`" + ` makes the kills of another seed,
400 of them at random. When a process is killed at random moments, the same seed does not kill at the same instruction; kills at named points do.
`)
	return b.String()
}

func title(w Work) string { return strings.ToUpper(string(w[:1])) + string(w[1:]) }
