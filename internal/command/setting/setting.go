// Package setting finds the value of a setting: from the command line, LOAM_* variables, the variables of other servers of the
// protocol (Aliases), the file loam.yaml, or its default, in this order.
//
// A setting is a flag that has a variable; its name is also its key in the file. A key of the file that is no setting is an
// error that names the key and its line, so that a misspelling is not mistaken for a decision. An empty variable counts as
// absent. The package belongs to the room internal/command (tier 8) and depends on the library of the command line only.
package setting

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Resolver gives flags their values where the command line does not. Make it with NewResolver.
type Resolver struct {
	lookup func(string) (string, bool)
	file   File
}

// NewResolver looks variables up with lookup (os.LookupEnv) and after them in the file.
func NewResolver(lookup func(string) (string, bool), file File) *Resolver {
	return &Resolver{lookup: lookup, file: file}
}

// Validate implements kong.Resolver: it refuses keys of the file that are no settings of the application.
func (r *Resolver) Validate(app *kong.Application) error {
	known := map[string]bool{}
	for _, flag := range Flags(app.Node) {
		known[flag.Name] = true
	}
	return r.file.check(known)
}

// Resolve implements kong.Resolver.
func (r *Resolver) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, variable := range flag.Envs {
		if value, ok := r.lookup(variable); ok && value != "" {
			return value, nil
		}
	}
	if len(flag.Envs) == 0 {
		return nil, nil
	}
	if value, ok := fromAliases(flag.Name, r.lookup); ok {
		return value, nil
	}
	if value, ok := r.file.values[flag.Name]; ok {
		return value.text, nil
	}
	return nil, nil
}

// Flags lists the settings of a command and of the commands beneath it, each name once, in order of declaration.
func Flags(node *kong.Node) []*kong.Flag {
	var out []*kong.Flag
	seen := map[string]bool{}
	var walk func(*kong.Node)
	walk = func(n *kong.Node) {
		for _, flag := range n.Flags {
			if len(flag.Envs) > 0 && !seen[flag.Name] {
				seen[flag.Name] = true
				out = append(out, flag)
			}
		}
		for _, child := range n.Children {
			walk(child)
		}
	}
	walk(node)
	return out
}

// CheckURL takes the address of another server: absolute, http or https. Trailing slashes are dropped; empty stays empty.
func CheckURL(flag, value string) (string, error) {
	value = strings.TrimRight(strings.TrimSpace(value), "/")
	if value == "" || strings.HasPrefix(value, "http://") || strings.HasPrefix(value, "https://") {
		return value, nil
	}
	return "", fmt.Errorf("--%s: %q must begin with http:// or https://", flag, value)
}
