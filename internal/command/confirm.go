package command

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/command/exitcode"
)

// sure is the flag of commands that destroy something.
type sure struct {
	Yes bool `help:"Do not ask; needed when nobody sits at a terminal."`
}

// errKept says that the person did not want to delete after all.
var errKept = errors.New("nothing was deleted")

// confirm asks whether to delete, unless --yes was given. Without a person to ask it is an error of usage.
func (s *sure) confirm(a *app, what string) error {
	if s.Yes {
		return nil
	}
	if !isTerminal(a.in) {
		return exitcode.With(exitcode.Usage, fmt.Errorf("this deletes %s; add --yes to do it", printable(what)))
	}
	if _, err := fmt.Fprintf(a.err, "Delete %s? [y/N] ", printable(what)); err != nil {
		return err
	}
	// The end of the input is an answer too, and not yes.
	answer, _ := bufio.NewReader(a.in).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errKept
}
