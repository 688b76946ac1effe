package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/loam-agents/loam/internal/govern"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/server/admin"
	"github.com/loam-agents/loam/internal/server/metrics"
	"github.com/loam-agents/loam/internal/store"
)

// AdminAddr is the address of the admin listener as HOST:PORT, empty when there is none.
func (s *Server) AdminAddr() string {
	if s.adminListener == nil {
		return ""
	}
	return s.adminListener.Addr().String()
}

func (s *Server) listenAdmin() (err error) {
	if s.cfg.AdminListen == "" {
		return nil
	}
	if s.adminListener, err = net.Listen("tcp", s.cfg.AdminListen); err != nil {
		return fmt.Errorf("admin listener on %s: %w", s.cfg.AdminListen, err)
	}
	return nil
}

// serveAdmin answers on the admin listener until the function that it returns is called. It outlives the drain, so that
// whoever balances load reads that the server is not ready before its connections end.
func (s *Server) serveAdmin() (stop func()) {
	if s.adminListener == nil {
		return func() {}
	}
	server := &http.Server{
		Handler: admin.New(admin.Options{
			Metrics: s.metrics.Handler(s.cfg.Logger), Remote: s.cfg.AdminRemote,
			Checks: []admin.Check{{Name: "draining", Ready: s.notDraining}, {Name: "database", Ready: s.databaseAnswers}},
		}),
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.cfg.Logger.Handler(), slog.LevelDebug),
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(s.adminListener); !errors.Is(err, http.ErrServerClosed) {
			s.cfg.Logger.Error("the admin listener failed", "error", err)
		}
	}()
	return func() {
		// A profile that somebody takes is cut off; everything else is short.
		_ = server.Close()
		<-ended
	}
}

func (s *Server) notDraining(context.Context) error {
	if s.draining.Load() {
		return errors.New("the server is stopping")
	}
	return nil
}

func (s *Server) databaseAnswers(ctx context.Context) error {
	return s.store.Read(ctx, func(tx store.Tx) error {
		var n int64
		return tx.QueryRow(`SELECT COUNT(*) FROM server_state`).Scan(&n)
	})
}

// watch connects the metrics with the parts.
func (s *Server) watch() {
	s.metrics.Watch(metrics.Sources{
		Store: s.store, Bus: s.bus, Sockets: s.signed, Streams: s.rest, Queue: s.queue, Vault: s.vault, Blobs: s.blobs,
		Draining: s.draining.Load, Logger: s.cfg.Logger,
	})
}

// runChanged is told of every change of a run, inside its transaction.
func (s *Server) runChanged(tx store.Tx, r *runs.Run, busy bool) error {
	s.metrics.RunChanged(tx, r)
	// A turn that succeeds waits for nothing, and most turns are such.
	if r.Status.Terminal() && (r.Kind != runs.KindAgent || r.Status != runs.Succeeded) {
		if err := govern.Ended(tx, r.ID); err != nil {
			return err
		}
	}
	return s.notify.RunChanged(tx, r, busy)
}
