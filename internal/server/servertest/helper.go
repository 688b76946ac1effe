package servertest

import (
	"os"
	"slices"
	"sync/atomic"

	"github.com/loam-agents/loam/internal/script"
	"github.com/loam-agents/loam/internal/web/pdftext"
)

// helps says that this test binary does the work that a server starts its own program for.
var helps atomic.Bool

// Helper lets a test binary be that program: servers of Start then translate scripts and read PDF files. TestMain calls it first.
func Helper() {
	switch {
	case slices.Equal(os.Args[1:], []string{script.Argument}):
		os.Exit(script.Main(os.Stdin, os.Stdout))
	case slices.Equal(os.Args[1:], []string{pdftext.Argument}):
		os.Exit(pdftext.Main(os.Stdin, os.Stdout))
	}
	helps.Store(true)
}
