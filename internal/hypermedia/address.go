package hypermedia

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
)

// Address is an hm:// address (spec/hypermedia.md §3).
type Address struct {
	// UID is the account, and Path the segments below it, without those of a view.
	UID  string
	Path []string
	// Version is empty for the latest one. Latest says that a newer one may be taken.
	Version string
	Latest  bool
	// View is the view term without its colon, such as directory, and Rest what follows it.
	View string
	Rest []string
}

// maxAddress bounds an address in bytes.
const maxAddress = 2048

// ParseAddress reads an address that begins with hm://. Errors are fault.ValidationFailed.
func ParseAddress(text string) (Address, error) {
	rest, ok := strings.CutPrefix(text, "hm://")
	if !ok || len(text) > maxAddress {
		return Address{}, fault.Invalid("An address of the hypermedia network begins with hm:// and has at most %d bytes", maxAddress)
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	var out Address
	for _, segment := range strings.Split(rest, "/") {
		switch {
		case segment == "":
		case out.UID == "":
			out.UID = segment
		case out.View != "":
			out.Rest = append(out.Rest, segment)
		case strings.HasPrefix(segment, ":"):
			out.View = segment[1:]
		default:
			out.Path = append(out.Path, segment)
		}
	}
	if out.UID == "" {
		return Address{}, fault.Invalid("Name an account: hm://<account>/<path>")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Address{}, fault.Invalid("The part of %.100q after ? cannot be read", text)
	}
	out.Version = values.Get("v")
	out.Latest = out.Version == "" || values.Has("l")
	return out, nil
}

// ID is the address without version and view.
func (a Address) ID() string { return "hm://" + strings.Join(append([]string{a.UID}, a.Path...), "/") }

// String is the address without its view, as a server is asked for it.
func (a Address) String() string {
	switch {
	case a.Version == "":
		return a.ID()
	case a.Latest:
		return a.ID() + "?v=" + a.Version + "&l"
	}
	return a.ID() + "?v=" + a.Version
}

// Unpacked is the address as an object, which some requests take.
func (a Address) Unpacked() map[string]any {
	return map[string]any{
		"id": a.ID(), "uid": a.UID, "path": append([]string{}, a.Path...), "version": nil, "blockRef": nil, "blockRange": nil,
		"hostname": nil, "scheme": "hm", "latest": true,
	}
}

var (
	accountForm = regexp.MustCompile(`^z6Mk[1-9A-HJ-NP-Za-km-z]{44}$`)
	recordForm  = regexp.MustCompile(`^z6[1-9A-HJ-NP-Za-km-z]{10,14}$`)
)

// IsAccount tells whether a text looks like the name of an account.
func IsAccount(text string) bool { return accountForm.MatchString(text) }

// CommentOf is the comment that the segments of a path name, as <author>/<record>, and false when they name none.
func CommentOf(segments []string) (record string, ok bool) {
	if len(segments) != 2 || !IsAccount(segments[0]) || !recordForm.MatchString(segments[1]) {
		return "", false
	}
	return segments[0] + "/" + segments[1], true
}
