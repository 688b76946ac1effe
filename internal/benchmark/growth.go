package main

import (
	"errors"
	"fmt"
	"time"
)

const headingGrowth = "How the cost of a turn of 20 deltas grows"

// growth measures the same turn with ever more sessions in the database, and with an ever longer log of its session.
func (b *bench) growth() error {
	w, err := b.open(deltas())
	if err != nil {
		return err
	}
	return errors.Join(b.growSessions(w), b.growLog(w), w.close())
}

func (b *bench) growSessions(w *world) error {
	const workers = 10
	have := 0
	for _, n := range []int{10, 100, 1000} {
		more := (n - have) / workers
		// Each turn of drive's workers is in a session that has had at most turnsPerSession before.
		if _, err := w.drive(workers, more*turnsPerSession/5, "hello"); err != nil {
			return err
		}
		for range n - have - workers*more/5 {
			if _, err := w.session(w.agent); err != nil {
				return err
			}
		}
		have = n
		l, err := w.drive(1, 60, "go on")
		if err != nil {
			return err
		}
		b.addGrowth(fmt.Sprintf("%d sessions", n), l)
	}
	return nil
}

func (b *bench) growLog(w *world) error {
	for _, n := range []int{100, 1000, 5000} {
		session, err := w.fill(w.agent, n)
		if err != nil {
			return err
		}
		before, err := w.process.Cost(b.ctx)
		if err != nil {
			return err
		}
		l := &load{}
		for range 20 {
			begun := time.Now()
			if err := w.send(session, "go on"); err != nil {
				return err
			}
			l.times = append(l.times, time.Since(begun))
		}
		after, err := w.process.Cost(b.ctx)
		if err != nil {
			return err
		}
		l.cost.CPU = after.CPU - before.CPU
		b.addGrowth(fmt.Sprintf("%d events in the session's log", n), l)
	}
	return nil
}

func (b *bench) addGrowth(name string, l *load) {
	b.report.add(headingGrowth, row{
		what: name, value: millis(quantile(l.times, 0.5)), compared: "CPU of the server " + millis(l.cpu()),
	})
}
