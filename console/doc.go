// Package console holds the files of the web page that people use Loam with.
//
// The page is TypeScript in this folder; `make build` bundles it into dist/ and builds the binary with the tag `console`, which
// embeds dist. Without the tag the files are those of absent/, a page that says how to get the real one, so that plain
// `go build ./...` needs no Node.
//
// console is tier 0 and imports nothing of Loam. internal/transport/console serves the files.
package console
