// Command loam is a self-hosted server for AI agents and the command line to talk to it. `loam --help` lists what it can do.
//
// The commands live in internal/command; this package only ends the process with their exit code.
package main

import (
	"os"

	"github.com/loam-agents/loam/internal/command"
)

func main() { os.Exit(command.Main()) }
