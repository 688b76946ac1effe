package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/loam-agents/loam/internal/fault"
)

// Limits of a path.
const (
	// MaxPath bounds a normalised path in bytes.
	MaxPath = 512
	// MaxSegment bounds one name in it in bytes, as the file systems do that a memory is laid out on for programs.
	MaxSegment = 255
	// MaxDepth bounds the number of names.
	MaxDepth = 16
)

// Normalize returns the one spelling of a path: names joined with single slashes, in Unicode NFC, so that variants name
// one file. Both kinds of slashes separate names; empty names and "." fall away; the result may be empty, which is the
// root. Refused with fault.Invalid: absolute paths, "..", control characters (NUL among them), text that is not UTF-8, and
// what exceeds the limits. Letter case counts.
func Normalize(path string) (string, error) {
	if !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl) {
		return "", fault.Invalid("Memory path is invalid: it must be text without control characters")
	}
	// NFC shortens a path only a little: what is far beyond the limit is not worth the work.
	if len(path) > 8*MaxPath {
		return "", fault.Invalid("Memory path is too large")
	}
	slashed := strings.ReplaceAll(norm.NFC.String(path), `\`, "/")
	if isAbsolute(slashed) {
		return "", fault.Invalid("Memory path is invalid: it must be relative")
	}
	var names []string
	for name := range strings.SplitSeq(slashed, "/") {
		switch name {
		case "", ".":
			continue
		case "..":
			return "", fault.Invalid("Memory path is invalid: it must not contain ..")
		}
		if len(name) > MaxSegment {
			return "", fault.Invalid("Memory path is too large")
		}
		names = append(names, name)
	}
	out := strings.Join(names, "/")
	if len(names) > MaxDepth {
		return "", fault.Invalid("Memory path is too deep")
	}
	if len(out) > MaxPath {
		return "", fault.Invalid("Memory path is too large")
	}
	return out, nil
}

// isAbsolute knows the absolute paths of Unix and of Windows.
func isAbsolute(slashed string) bool {
	if strings.HasPrefix(slashed, "/") {
		return true
	}
	letter := slashed != "" && (slashed[0]|0x20) >= 'a' && (slashed[0]|0x20) <= 'z'
	return letter && strings.HasPrefix(slashed[1:], ":/")
}

// filePath is Normalize for a path that must name something.
func filePath(path string) (string, error) {
	out, err := Normalize(path)
	if err != nil {
		return "", err
	}
	if out == "" {
		return "", fault.Invalid("Memory path is required")
	}
	return out, nil
}

// parents are the folders above a path, outermost first.
func parents(path string) []string {
	var out []string
	for i := range len(path) {
		if path[i] == '/' {
			out = append(out, path[:i])
		}
	}
	return out
}
