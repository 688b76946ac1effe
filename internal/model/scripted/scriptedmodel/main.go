// Command scriptedmodel serves a script of package scripted on an address, for manual use, crash tests and benchmarks.
//
//	scriptedmodel -addr 127.0.0.1:4711 -script turns.json
//	scriptedmodel -addr 127.0.0.1:4711 -deltas 500
//
// With -deltas it needs no script: every request is answered at once with that many deltas. It prints the URL and runs
// until it is interrupted.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "scriptedmodel:", err)
		os.Exit(1)
	}
}

func run() error {
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	file := flag.String("script", "", "script file (JSON)")
	deltas := flag.Int("deltas", 20, "deltas of every answer when there is no script")
	flag.Parse()
	script := benchmark(*deltas)
	if *file != "" {
		var err error
		if script, err = scripted.LoadFile(*file); err != nil {
			return err
		}
	}
	server, err := scripted.New(scripted.Options{Addr: *addr, Script: script, Discard: true})
	if err != nil {
		return err
	}
	fmt.Println(server.URL())
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	<-interrupted
	return server.Close()
}

func benchmark(deltas int) scripted.Script {
	return scripted.Script{Turns: []scripted.Turn{{
		Repeat: true,
		Steps:  []scripted.Step{{Text: "word ", Times: deltas}},
		Usage:  model.Usage{Input: 100, Output: int64(deltas)},
	}}}
}
