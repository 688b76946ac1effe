// Command licences writes the licence texts of everything that is linked into a
// binary of this repository, so that release archives can carry them.
//
//	go run ./internal/devtool/licences -o FILE [-page licences.json] [package …]
//
// It covers the packages of the page's bundle, which its build lists in -page, the modules that the named packages (default ./cmd/loam) import for
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
)

func main() {
	out := flag.String("o", "THIRD_PARTY_LICENCES.txt", "file to write")
	page := flag.String("page", "", "the list of licences that the build of the page writes")
	flag.Parse()
	packages := flag.Args()
	if len(packages) == 0 {
		packages = []string{"./cmd/loam"}
	}
	if err := run(*out, *page, packages); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(out, page string, packages []string) error {
	modules, err := linkedModules(packages)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := write(&text, modules); err != nil {
		return err
	}
	if page != "" {
		if err := writePage(&text, page); err != nil {
			return err
		}
	}
	return os.WriteFile(out, text.Bytes(), 0o644)
}
