package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/loam-agents/loam/internal/command/doctor"
	"github.com/loam-agents/loam/internal/command/exitcode"
)

type doctorCommand struct {
	connection
	JSON bool `help:"Print JSON."`
}

// Run looks at everything and fails when something is broken.
func (c *doctorCommand) Run(ctx context.Context, a *app) error {
	serve, err := a.newServe()
	if err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	cfg, err := serve.configuration(a)
	if err != nil {
		return exitcode.With(exitcode.Usage, err)
	}
	options := doctor.Options{Config: cfg}
	switch url, err := c.server(ctx, a); {
	case err == nil:
		options.URL = url
		if options.Client, err = c.open(ctx, a); err != nil && c.URL != "" {
			return err
		}
	case c.URL != "":
		return err
	}
	findings := doctor.Run(ctx, options)
	if c.JSON {
		err = a.printJSON(findings)
	} else {
		err = a.printFindings(findings)
	}
	if err == nil && doctor.Failed(findings) {
		err = errors.New("something is broken; see above")
	}
	return err
}

func (a *app) printFindings(findings []doctor.Finding) error {
	for _, f := range findings {
		if _, err := fmt.Fprintf(a.out, "%-4s  %s: %s\n", f.Level, printable(f.Check), printable(f.Text)); err != nil {
			return err
		}
		if f.Fix == "" {
			continue
		}
		if _, err := fmt.Fprintln(a.out, "      -> "+printable(f.Fix)); err != nil {
			return err
		}
	}
	return nil
}
