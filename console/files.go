package console

import (
	"fmt"
	"io/fs"
)

// beneath is a folder of an embedded tree as a tree of its own. A folder that is embedded exists, so an error is a bug here.
func beneath(tree fs.FS, folder string) fs.FS {
	files, err := fs.Sub(tree, folder)
	if err != nil {
		panic(fmt.Sprintf("console: embedded folder %s: %v", folder, err))
	}
	return files
}
