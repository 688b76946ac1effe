//go:build console

package console

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files are the built page: index.html at the root, files with a hash in their names under assets/.
func Files() fs.FS { return beneath(dist, "dist") }
