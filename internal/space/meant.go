package space

import (
	"regexp"
	"slices"
	"strings"
)

// Meant is the address that a slightly wrong one most likely stands for: it lost its ~/, its scheme is spelled in capitals or with
// slashes that do not belong there, it is a path of a workspace or of a file, or it stands in quotes. It tells false when nothing is
// meant, or when the address is right as it is. Nothing is looked up.
func Meant(address string) (string, bool) {
	s := strings.Trim(address, " \t\r\n`'\"“”‘’<>")
	// What stands before a whole web address says only that one follows.
	if at := wholeURL(s); at > 0 {
		s = s[at:]
	}
	out := s
	if scheme, rest, ok := strings.Cut(s, ":"); ok && schemeName.MatchString(scheme) {
		out = schemed(strings.ToLower(scheme), rest)
	} else {
		out = pathed(s)
	}
	return out, out != "" && out != address
}

var (
	// account is the beginning of an address of the hypermedia network that lost its scheme.
	account    = regexp.MustCompile(`^z6Mk[1-9A-HJ-NP-Za-km-z]{44}(/|$)`)
	schemeName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*$`)
	// hosted are the schemes with an authority, plain those of one identifier, rooted the folders below ~/.
	hosted = []string{"hm", "ipfs", "http", "https"}
	plain  = []string{"thread", "run", "attachment", "activity"}
	rooted = []string{"memory", "tools", "triggers", "self"}
)

func wholeURL(s string) int {
	if strings.ContainsAny(s, " \t\r\n") {
		return -1
	}
	at := -1
	for _, scheme := range []string{"https://", "http://", "hm://", "ipfs://"} {
		// Only what follows a word and its mark is an address of its own: a page may have one in its query.
		if i := strings.Index(s, scheme); i > 0 && (at < 0 || i < at) && leadIn.MatchString(s[:i]) {
			at = i
		}
	}
	return at
}

var leadIn = regexp.MustCompile(`^(~?/|\./|[A-Za-z]{1,12}[:=]/{0,2})$`)

// schemed is an address with a scheme, as it should be spelled.
func schemed(scheme, rest string) string {
	rest = strings.TrimLeft(rest, "/")
	switch {
	case slices.Contains(hosted, scheme):
		return scheme + "://" + rest
	case slices.Contains(plain, scheme):
		return scheme + ":" + strings.TrimRight(rest, "/")
	case slices.Contains(rooted, scheme):
		return strings.TrimSuffix("~/"+scheme+"/"+rest, "/")
	case scheme == "file" || scheme == "space" || scheme == "loam":
		return pathed(rest)
	}
	return ""
}

// pathed is an address that looks like a path.
func pathed(s string) string {
	if strings.HasPrefix(strings.ToLower(s), "www.") {
		return "https://" + s
	}
	if account.MatchString(s) {
		return "hm://" + s
	}
	s = strings.TrimPrefix(s, ".")
	s = strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(s, "/"), "~"), "/")
	first, rest, deeper := strings.Cut(s, "/")
	first = strings.ToLower(first)
	switch {
	case slices.Contains(rooted, first) && deeper:
		return "~/" + first + "/" + rest
	case slices.Contains(rooted, first):
		return "~/" + first
	case first == "workspace":
		return "~/memory/" + rest
	case first == "activity" && rest == "":
		return "activity:"
	case slices.Contains(plain, first) && deeper:
		return first + ":" + strings.Trim(rest, "/")
	}
	return ""
}
