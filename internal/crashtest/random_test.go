package crashtest_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/crashtest/matrix"
	"github.com/loam-agents/loam/internal/crashtest/process"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/wire"
)

// The variables that choose how many random kills there are and which; a failure prints the seed.
const (
	roundsVariable = "LOAM_CRASH_ROUNDS"
	seedVariable   = "LOAM_CRASH_SEED"
)

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	return must[uint64](t)(strconv.ParseUint(text, 10, 64))
}

// longestLife is how long a process works at most before it is killed: about the time of one turn with its start.
const longestLife = 60 * time.Millisecond

// mostKills is how often the process dies over one piece of work. A run that was taken over more than ten times is given up.
const mostKills = 10

// idle is how many pieces of work in a row may end without a kill before the test says that it kills nothing.
const idle = 20

func TestKillsAtRandomMomentsLoseAndRepeatNothing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		rounds := int(number(t, roundsVariable, matrix.RandomInCI)) / matrix.Databases
		seed := number(t, seedVariable, 1)
		random := rand.New(rand.NewPCG(seed, uint64(rounds)))
		pieces := []func(*rig, *rand.Rand, int){messages, forest, performance}
		for left, n, quiet := rounds, 0, 0; left > 0; n++ {
			now := r.another()
			pieces[n%len(pieces)](now, random, min(left, mostKills, max(rounds/len(pieces), 1)))
			now.end()
			left -= now.crashes
			if quiet++; now.crashes > 0 {
				quiet = 0
			}
			if t.Failed() || quiet > idle {
				t.Fatalf("failed with %s=%d in piece %d, %d kills before the end", seedVariable, seed, n, left)
			}
		}
	})
}

// another is a fresh rig on the same database server.
func (r *rig) another() *rig {
	if r.options.DatabaseURL == "" {
		return newRig(r.t, "")
	}
	return newRig(r.t, freshDatabase(r.t))
}

// killing kills whatever process runs, so often and no more, until the function that it returns was called. Every second process dies at a
// named point if it gets there, all others after a random life.
func (r *rig) killing(random *rand.Rand, kills int) (calm func()) {
	// One source for each goroutine.
	places := rand.New(rand.NewPCG(random.Uint64(), 1))
	moments := rand.New(rand.NewPCG(random.Uint64(), 2))
	r.mu.Lock()
	r.next = func() string {
		if r.crashes >= kills || places.IntN(2) == 0 {
			return ""
		}
		if places.IntN(8) == 0 {
			return runs.PointRecovered
		}
		c := matrix.Cases[places.IntN(len(matrix.Cases))]
		return fmt.Sprintf("%s:%d", c.Point, 1+places.IntN(3))
	}
	r.mu.Unlock()
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		r.killer(moments, kills, done)
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-gone
	})
}

// killer kills whatever process runs, each after a random life, until it has died often enough or the work is done.
func (r *rig) killer(random *rand.Rand, kills int, done <-chan struct{}) {
	var last *process.Process
	for {
		life := clock.System{}.After(time.Duration(random.Int64N(int64(longestLife))))
		select {
		case <-life:
		case <-done:
			return
		}
		r.mu.Lock()
		p, crashes := r.process, r.crashes
		r.mu.Unlock()
		switch {
		case crashes >= kills:
			return
		case p == last:
			// Nobody has noticed the death yet: the next one is started by whoever does.
		case crashes == kills-1 || random.IntN(2) == 0:
			p.Kill()
			last = p
		}
	}
}

// messages has four sessions work at once while the process is killed again and again.
func messages(r *rig, random *rand.Rand, kills int) {
	const sessions, each = 4, 6
	t := r.t
	r.start("")
	r.found()
	ids := make([]string, sessions)
	sent := make([][]message, sessions)
	answers := make([][]wire.MessageSessionResponse, sessions)
	for s := range ids {
		ids[s] = r.session()
		for m := range each {
			say := r.say
			if m%2 == 1 {
				say = r.sayOnce
			}
			sent[s] = append(sent[s], must[message](t)(say(ids[s], item(s*each+m))))
		}
		answers[s] = make([]wire.MessageSessionResponse, each)
	}
	calm := r.killing(random, kills)
	var work sync.WaitGroup
	errs := make(chan error, sessions)
	for s := range ids {
		work.Go(func() {
			for m, msg := range sent[s] {
				var err error
				if answers[s][m], err = r.deliver(msg); err != nil {
					errs <- fmt.Errorf("session %d, message %d: %w", s, m, err)
					return
				}
			}
		})
	}
	work.Wait()
	calm()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	if t.Failed() {
		return
	}
	r.revive()
	for s, id := range ids {
		r.audit(id, sent[s], answers[s])
		r.repeated(sent[s], answers[s])
	}
	r.auditMemory(ids...)
}

// forest grows a tree of two levels.
func forest(r *rig, random *rand.Rand, kills int) {
	r.grow("oak", 3, 2)
	r.start("")
	r.found()
	session := r.session()
	calm := r.killing(random, kills)
	tree := r.plant(session, "oak")
	calm()
	r.revive()
	r.grown(session, "oak", tree, 9)
}

// performance runs the long script.
func performance(r *rig, random *rand.Rand, kills int) {
	r.growYew()
	r.start("")
	r.found()
	if got := r.lengthy(r.killing(random, kills)); got != longResult {
		r.t.Errorf("after %d kills the result is %s, want %s", r.crashes, got, longResult)
	}
}
