// Package setting finds the value of a setting: from the command line, LOAM_* variables, the variables of other servers of the
// protocol (Aliases), the file loam.yaml, or its default, in this order.
//
// A setting is a flag that has a variable; its name is also its key in the file. A key of the file that is no setting is an
// error that names the key and its line, so that a misspelling is not mistaken for a decision. An empty variable counts as
// absent. The package belongs to the room internal/command (tier 8) and depends on the library of the command line only.
package setting

import (
	"fmt"
	"strconv"
	"strings"
	"time"

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

// Resolve implements kong.Resolver. An error names the variable, or the line of the file, that holds no such value.
func (r *Resolver) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	value, origin := r.find(flag)
	if origin == "" {
		return nil, nil
	}
	if err := checkNumber(flag, value); err != nil {
		return nil, fmt.Errorf("%s: %w", origin, err)
	}
	return value, nil
}

// find looks for a value and tells where it stands; an empty origin says that there is none.
func (r *Resolver) find(flag *kong.Flag) (value, origin string) {
	for _, variable := range flag.Envs {
		if value, ok := r.lookup(variable); ok && value != "" {
			return value, variable
		}
	}
	if len(flag.Envs) == 0 {
		return "", ""
	}
	if value, ok := fromAliases(flag.Name, r.lookup); ok {
		return value, "a variable " + Prefix + "*"
	}
	if value, ok := r.file.values[flag.Name]; ok {
		return value.text, fmt.Sprintf("%s:%d: %s", r.file.path, value.line, flag.Name)
	}
	return "", ""
}

// checkNumber refuses text where a flag takes a number or a duration.
func checkNumber(flag *kong.Flag, value string) error {
	if !flag.Target.IsValid() {
		return nil
	}
	switch flag.Target.Interface().(type) {
	case time.Duration:
		if _, err := time.ParseDuration(value); err != nil {
			return fmt.Errorf("%q is no duration such as 5s or 2m", value)
		}
	case int, int64:
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			return fmt.Errorf("%q is no whole number", value)
		}
	}
	return nil
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
