package command

import (
	"fmt"

	"github.com/loam-agents/loam/internal/buildinfo"
	"github.com/loam-agents/loam/wire"
)

type versionCommand struct {
	JSON bool `help:"Print JSON."`
}

// Run prints what this build says about itself.
func (c *versionCommand) Run(a *app) error {
	if c.JSON {
		return a.printJSON(map[string]any{
			"version": buildinfo.Version, "commit": buildinfo.Commit, "branch": buildinfo.Branch, "date": buildinfo.Date,
			"protocol": wire.ProtocolNumber, "minClientProtocol": wire.MinClientProtocol,
		})
	}
	_, err := fmt.Fprintln(a.out, "loam "+buildinfo.String())
	return err
}
