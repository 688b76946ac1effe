package memory

import (
	"fmt"
	"sort"
	"strings"

	"github.com/loam-agents/loam/internal/store"
)

// Summary is what the Space index and `~/self` say about a memory.
type Summary struct {
	// Files is the number of all files.
	Files int64
	// TopLevel names the files and folders of the root, sorted by name: `a.md`, and `dir/(3)` for a folder with three files
	// under it. Names come from outside: whoever puts them into a prompt escapes them.
	TopLevel []string
	// More says that the root holds more than that.
	More bool
}

// String is the line of the Space index.
func (s Summary) String() string {
	if s.Files == 0 {
		return "memory/ — empty"
	}
	noun := "files"
	if s.Files == 1 {
		noun = "file"
	}
	names := s.TopLevel
	if s.More {
		names = append(names[:len(names):len(names)], "…")
	}
	return fmt.Sprintf("memory/ — %d %s: %s", s.Files, noun, strings.Join(names, " · "))
}

// Summarize looks at the root of a memory and names at most limit of its entries; the Space index takes 12. It reads
// the paths of all files.
func Summarize(tx store.Tx, agentID string, limit int) (Summary, error) {
	var out Summary
	below := map[string]int{}
	err := walk(tx, agentID, "", -1, func(f File) {
		out.Files++
		name, _, isBelow := strings.Cut(f.Path, "/")
		if isBelow {
			below[name]++
		} else {
			below[name] = 0
		}
	})
	if err != nil {
		return Summary{}, err
	}
	names := make([]string, 0, len(below))
	for name := range below {
		names = append(names, name)
	}
	sort.Strings(names)
	if len(names) > limit {
		names, out.More = names[:limit], true
	}
	for _, name := range names {
		if n := below[name]; n > 0 {
			name = fmt.Sprintf("%s/(%d)", name, n)
		}
		out.TopLevel = append(out.TopLevel, name)
	}
	return out, nil
}
