package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/loam-agents/loam/internal/account/nonce"
	"github.com/loam-agents/loam/internal/buildinfo"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/upload"
	"github.com/loam-agents/loam/wire"
)

// Timeouts of the HTTP server. There is no write timeout: an answer may take as long as a turn.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
	// stopTimeout bounds what is left to do after the drain.
	stopTimeout = 3 * time.Second
	// pruneEvery and pruneBatch: expired nonces are forgotten in the background.
	pruneEvery = time.Minute
	pruneBatch = 5000
	// sweepEvery: abandoned uploads are forgotten in the background.
	sweepEvery = 10 * time.Minute
)

func (s *Server) listen() error {
	listener, err := net.Listen("tcp", s.cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.cfg.Listen, err)
	}
	s.listener = listener
	return nil
}

// Addr is the address that was bound, as HOST:PORT.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Serve works until ctx ends: then it says that it is not ready, takes no new work, closes every socket with 1001, waits for turns in progress up to the
// drain timeout, queues again what did not finish, and closes the database. It returns nil after a clean stop.
func (s *Server) Serve(ctx context.Context) error {
	s.notify.Start()
	if err := s.queue.Start(ctx); err != nil {
		s.notify.Stop()
		if ctx.Err() != nil {
			// Whoever stops a server while it starts gets a clean stop as well.
			err = nil
		}
		return errors.Join(err, s.Close())
	}
	s.triggers.Start()
	s.http = &http.Server{
		Handler: s.metrics.HTTP(s.handler()), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
	}
	stopAdmin := s.serveAdmin()
	defer stopAdmin()
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	var housekeeping sync.WaitGroup
	housekeeping.Go(func() { s.prune(background) })
	housekeeping.Go(func() { s.sweep(background) })
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.listener) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	s.drain(context.WithoutCancel(ctx))
	stopBackground()
	housekeeping.Wait()
	stopAdmin()
	return errors.Join(err, s.Close())
}

func (s *Server) drain(ctx context.Context) {
	// First, so that nobody is sent here who would be sent away.
	s.draining.Store(true)
	if s.cfg.DrainDelay > 0 {
		s.cfg.Logger.Info("not ready any more: going on until others have noticed", "delay", s.cfg.DrainDelay)
		<-s.cfg.Clock.After(s.cfg.DrainDelay)
	}
	s.cfg.Logger.Info("stopping: waiting for turns in progress", "turns", s.queue.Executing(), "timeout", s.cfg.DrainTimeout)
	sockets, cancel := context.WithTimeout(ctx, stopTimeout)
	s.signed.Close(sockets)
	s.rest.Close(sockets)
	cancel()
	s.triggers.Stop()
	turns, cancel := context.WithTimeout(ctx, s.cfg.DrainTimeout)
	s.queue.Stop(turns)
	cancel()
	requests, cancel := context.WithTimeout(ctx, stopTimeout/3)
	if err := s.http.Shutdown(requests); err != nil {
		_ = s.http.Close()
	}
	cancel()
	s.notify.Stop()
}

// prune forgets nonces that no envelope can repeat any more.
func (s *Server) prune(ctx context.Context) {
	for {
		select {
		case <-s.cfg.Clock.After(pruneEvery):
		case <-ctx.Done():
			return
		}
		err := s.store.Write(ctx, store.Background, func(tx store.Tx) error {
			_, err := nonce.Prune(tx, clock.Millis(s.cfg.Clock), pruneBatch)
			return err
		})
		if err != nil && ctx.Err() == nil {
			s.cfg.Logger.Error("forget expired nonces", "error", err)
		}
	}
}

// sweep forgets uploads that nobody goes on with, from the start of the server on: the one before may have left some.
func (s *Server) sweep(ctx context.Context) {
	for {
		if err := upload.Sweep(ctx, s.store, s.blobs, clock.Millis(s.cfg.Clock)); err != nil && ctx.Err() == nil {
			s.cfg.Logger.Error("sweep abandoned uploads", "error", err)
		}
		select {
		case <-s.cfg.Clock.After(sweepEvery):
		case <-ctx.Done():
			return
		}
	}
}

// Close releases the database and the blob store. A second Close does nothing.
func (s *Server) Close() error {
	s.closing.Do(func() {
		var errs []error
		for _, listener := range []net.Listener{s.listener, s.adminListener} {
			if listener == nil {
				continue
			}
			if err := listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
		}
		if s.mcp != nil {
			s.mcp.Close()
		}
		if s.egress != nil {
			s.egress.Close()
		}
		if s.blobs != nil {
			errs = append(errs, s.blobs.Close())
		}
		if s.store != nil {
			errs = append(errs, s.store.Close())
		}
		s.closed = errors.Join(errs...)
	})
	return s.closed
}

// health is the answer of /api/health (spec §1.3).
func (s *Server) health() map[string]any {
	return map[string]any{
		"status": "ok", "uptime": s.cfg.Clock.Now().Sub(s.started).Seconds(), "version": buildinfo.Version,
		"hmServerUrl": s.cfg.HMServerURL, "ipfsServerUrl": s.cfg.IPFSServerURL,
		"webTools": map[string]bool{"search": s.outside.search.Configured(), "readBrowser": s.outside.crawler}, "subscriptionAuth": s.subscription != nil,
		"codeExec": false, "codeExecReason": "This version runs no code.", "codeExecReasonCode": "config-disabled",
		"codeExecRuntimes": []string{}, "protocol": wire.ProtocolNumber, "minClientProtocol": wire.MinClientProtocol,
	}
}

func (s *Server) version() map[string]any {
	return map[string]any{
		"version": buildinfo.Version, "commit": buildinfo.Commit, "branch": buildinfo.Branch, "date": buildinfo.Date,
		"protocol": wire.ProtocolNumber, "minClientProtocol": wire.MinClientProtocol,
	}
}
