//go:build !console

package console

import (
	"embed"
	"io/fs"
)

//go:embed absent
var absent embed.FS

// Files are a page that says how to build the real one.
func Files() fs.FS { return beneath(absent, "absent") }
