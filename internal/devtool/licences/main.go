// Command licences writes the licence texts of everything that is linked into a
// binary of this repository, so that release archives can carry them.
//
//	go run ./internal/devtool/licences -o FILE [-lists page.json,engine.json] [package …]
//
// It covers what the builds of the page and of the script engine list in -lists, the modules that the named packages (default ./cmd/loam) import for
// the GOOS and GOARCH of the environment, and the Go standard library. A module
// without any licence text is an error: it cannot be distributed. The output
// is ordered and depends on go.sum alone. Development tooling: outside the
// tiers, calls the go command only.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	out := flag.String("o", "THIRD_PARTY_LICENCES.txt", "file to write")
	lists := flag.String("lists", "", "the lists of licences that the builds of the page and of the script engine write, separated by commas")
	flag.Parse()
	packages := flag.Args()
	if len(packages) == 0 {
		packages = []string{"./cmd/loam"}
	}
	if err := run(*out, *lists, packages); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(out, lists string, packages []string) error {
	modules, err := linkedModules(packages)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := write(&text, modules); err != nil {
		return err
	}
	if lists != "" {
		for list := range strings.SplitSeq(lists, ",") {
			if err := writeList(&text, list); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(out, text.Bytes(), 0o644)
}
