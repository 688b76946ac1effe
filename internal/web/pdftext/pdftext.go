// Package pdftext gets the text out of PDF files that strangers made.
//
// A PDF is a program: a few kilobytes of it unpack to gigabytes or loop for ever. So the work is done apart, by a process that is held to
// MaxMemory and MaxTime.
//
// pdftext belongs to the room internal/web (tier 3). The command line calls Main when it is started with Argument; package web calls
// Program.Text.
package pdftext

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/loam-agents/loam/internal/apart"
	"github.com/loam-agents/loam/internal/fault"
)

// Argument is the only argument of the process that does the work.
const Argument = "pdf-text"

// Limits of one document.
const (
	// MaxPages bounds how many pages are read, MaxText the text in bytes.
	MaxPages = 200
	MaxText  = 256 << 10
	// MaxMemory bounds the data of the process in bytes, MaxTime how long it runs.
	MaxMemory = 768 << 20
	MaxTime   = 8 * time.Second
)

var job = apart.Job{Argument: Argument, Memory: MaxMemory, CPU: MaxTime, Wall: MaxTime}

// Text is what stands in a document.
type Text struct {
	Title string `json:"title"`
	// Text holds the pages with an empty line between them; empty for a scan.
	Text string `json:"text"`
	// Truncated says that there is more of it.
	Truncated bool `json:"truncated"`
	// Damaged says why the document could not be read; empty when it was.
	Damaged string `json:"damaged,omitempty"`
}

// Program is the path of an executable whose main calls Main. Empty means that there is none, and no PDF is read.
type Program string

// Text reads a document. Errors are *fault.Error or the context's: precondition_failed without a program, provider_error for a document
// that is damaged, locked, too costly to read, or without text.
func (p Program) Text(ctx context.Context, data []byte) (Text, error) {
	if p == "" {
		return Text{}, fault.New(fault.PreconditionFailed, "This server cannot read PDF files")
	}
	var t Text
	err := job.Run(ctx, string(p), bytes.NewReader(data), &t)
	if errors.Is(err, apart.ErrDied) {
		return Text{}, fault.Wrap(err, fault.ProviderError, "The PDF takes more than %d MiB of memory or %s to read", MaxMemory>>20, MaxTime)
	}
	if err != nil {
		return Text{}, err
	}
	switch {
	case t.Damaged != "":
		return Text{}, fault.Wrap(errors.New(t.Damaged), fault.ProviderError, "The PDF is damaged, or locked with a password")
	case strings.TrimSpace(t.Text) == "":
		return Text{}, fault.New(fault.ProviderError, "The PDF holds no text; it may be a scan")
	}
	return t, nil
}
