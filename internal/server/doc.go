// Package server is the composition root: it builds every part of Loam from a Config, starts them in order and stops them in
// reverse.
//
//	s, err := server.Open(ctx, cfg)   // port, store, vault, blobs: errors say what to do, nothing is answered yet
//	err = s.Serve(ctx)                // until ctx ends, then drains and closes
//
// A first start makes the server owner's key (<data>/owner.key) and an agent to talk to. server is tier 8; cmd/loam and tests
// call it.
package server
