package server

import "github.com/loam-agents/loam/internal/store"

// StoreStats are the counters of the database since the server was opened.
func (s *Server) StoreStats() store.Stats { return s.store.Stats() }
