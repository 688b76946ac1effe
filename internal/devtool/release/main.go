// Command release builds the release archives and their checksums.
//
//	go run ./internal/devtool/release -version V -commit C -branch B -date D [-out dist] [-lists FILES] [-targets linux/amd64,…]
//
// Each archive loam_<version>_<os>_<arch>.tar.gz holds the binary, LICENSE,
// NOTICE, README.md and THIRD_PARTY_LICENCES.txt; SHA256SUMS lists the archives.
// The same commit gives the same bytes on every machine: no cgo, no paths,
// no version control stamping, and the commit's time on every entry.
// Development tooling: outside the tiers, calls the go command and the licences
// program beside it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

const defaultTargets = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

func main() {
	var r release
	flag.StringVar(&r.version, "version", "", "version, such as v0.3.0")
	flag.StringVar(&r.commit, "commit", "unknown", "abbreviated commit hash")
	flag.StringVar(&r.branch, "branch", "unknown", "branch")
	flag.StringVar(&r.date, "date", "", "time of the commit in RFC 3339, UTC")
	flag.StringVar(&r.out, "out", "dist", "folder to write to; it is created")
	flag.StringVar(&r.pkg, "package", "./cmd/loam", "command to build")
	flag.StringVar(&r.lists, "lists", "", "the lists of licences that the builds of the page and of the script engine wrote, separated by commas; the binary then holds both")
	targets := flag.String("targets", defaultTargets, "comma-separated os/arch")
	flag.Parse()
	if err := r.run(strings.Split(*targets, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func (r *release) run(targets []string) error {
	when, err := time.Parse(time.RFC3339, r.date)
	if err != nil || r.version == "" {
		return errors.New("-version and -date are needed; the date is RFC 3339, such as 2026-11-30T04:43:00Z")
	}
	r.when = when.UTC()
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	var archives []string
	for _, target := range targets {
		archive, err := r.build(target)
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		fmt.Println("release: wrote", archive)
		archives = append(archives, archive)
	}
	return writeChecksums(r.out, archives)
}
