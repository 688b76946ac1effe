// Command show prints the build information that the linker gave it.
package main

import (
	"fmt"

	"github.com/loam-agents/loam/internal/buildinfo"
)

func main() { fmt.Println(buildinfo.String(), buildinfo.Branch) }
