package command

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/loam-agents/loam/internal/command/exitcode"
)

// signals turns the first signal into the end of a context and the second into the end of the process.
type signals struct {
	mu        sync.Mutex
	interrupt func()
}

// watchSignals watches until stop is called.
func watchSignals(parent context.Context) (context.Context, *signals, func()) {
	ctx, cancel := context.WithCancel(parent)
	s := &signals{}
	received := make(chan os.Signal, 2)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	var loop sync.WaitGroup
	loop.Go(func() {
		for {
			select {
			case sig := <-received:
				s.take(ctx, sig, cancel)
			case <-done:
				return
			}
		}
	})
	return ctx, s, func() {
		signal.Stop(received)
		close(done)
		loop.Wait()
		cancel()
	}
}

func (s *signals) take(ctx context.Context, sig os.Signal, cancel func()) {
	s.mu.Lock()
	handle := s.interrupt
	s.mu.Unlock()
	switch {
	case sig == os.Interrupt && handle != nil && ctx.Err() == nil:
		handle()
	case ctx.Err() == nil:
		cancel()
	default:
		// The first signal asked for an orderly end; whoever repeats it does not want to wait.
		os.Exit(int(exitcode.Interrupted))
	}
}

// onInterrupt lets a command take Ctrl-C itself, until restore is called. handle must not block.
func (s *signals) onInterrupt(handle func()) (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt = handle
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.interrupt = nil
	}
}
