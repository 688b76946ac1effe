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
	"github.com/loam-agents/loam/internal/crashtest/process"
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

func TestKillsAtRandomMomentsLoseAndRepeatNothing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		rounds := number(t, roundsVariable, 10)
		seed := number(t, seedVariable, 1)
		random := rand.New(rand.NewPCG(seed, rounds))
		for left := rounds; left > 0; {
			now := min(left, 10)
			randomKills(t, r.another(), random, int(now))
			left -= now
			if t.Failed() {
				t.Fatalf("failed with %s=%d, %d kills before the end", seedVariable, seed, left)
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

// randomKills has four sessions work at once while the process is killed again and again.
func randomKills(t *testing.T, r *rig, random *rand.Rand, kills int) {
	const sessions, messages = 4, 6
	r.start("")
	r.found()
	ids := make([]string, sessions)
	sent := make([][]message, sessions)
	answers := make([][]wire.MessageSessionResponse, sessions)
	for s := range ids {
		ids[s] = r.session()
		for m := range messages {
			say := r.say
			if m%2 == 1 {
				say = r.sayOnce
			}
			sent[s] = append(sent[s], must[message](t)(say(ids[s], item(s*messages+m))))
		}
		answers[s] = make([]wire.MessageSessionResponse, messages)
	}
	var work sync.WaitGroup
	done := make(chan struct{})
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
	go func() {
		work.Wait()
		close(done)
	}()
	r.killer(random, kills, done)
	<-done
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	if t.Failed() {
		return
	}
	for s, id := range ids {
		r.audit(id, sent[s], answers[s])
		r.repeated(sent[s], answers[s])
	}
	r.auditMemory(ids...)
	r.process.Kill()
}

// killer kills whatever process runs, each after a random life, until the work is done.
func (r *rig) killer(random *rand.Rand, kills int, done <-chan struct{}) {
	var last *process.Process
	for range kills {
		life := clock.System{}.After(time.Duration(random.Int64N(int64(longestLife))))
		select {
		case <-life:
		case <-done:
			return
		}
		r.mu.Lock()
		p := r.process
		r.mu.Unlock()
		if p == last {
			// Nobody has noticed the death yet: the next one is started by whoever does.
			continue
		}
		p.Kill()
		last = p
	}
}
