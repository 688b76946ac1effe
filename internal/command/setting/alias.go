package setting

import (
	"fmt"
	"slices"
	"strings"
)

// Prefix begins every variable that is taken over from other servers of the protocol.
const Prefix = "SEED_AGENTS_"

// Alias is a variable of another server of the protocol that Loam understands.
type Alias struct {
	// Variable is the whole name. A trailing * stands for any rest.
	Variable string
	// Flag is the setting that the variable sets; empty when this version has no such feature.
	Flag string
	// Note says what is special about the value, for the reference.
	Note string
	// check refuses values that cannot be meant; nil admits all.
	check func(value string) error
}

// Aliases is the one table of such variables, in the order of the reference. Where two rows match, the first counts.
func Aliases() []Alias {
	return []Alias{
		{Variable: Prefix + "HTTP_HOSTNAME", Flag: "listen", Note: "the host part; 127.0.0.1 when only the port is given"},
		{Variable: Prefix + "HTTP_PORT", Flag: "listen", Note: "the port; 3050 when only the host is given"},
		{Variable: Prefix + "DATA_DIR", Flag: "data"},
		{Variable: Prefix + "DB_PATH", Flag: "database-file", Note: "a file, not a folder"},
		{Variable: Prefix + "HM_SERVER_URL", Flag: "hm-server-url"},
		{Variable: Prefix + "IPFS_SERVER_URL", Flag: "ipfs-server-url"},
		{Variable: Prefix + "EXEC_BACKEND", Note: "empty, `off` or `none` is off and `microsandbox` the strongest there is; anything else ends the start", check: checkBackend},
		{Variable: Prefix + "EXEC_*"},
		{Variable: Prefix + "ACTIVITY_*"},
		{Variable: Prefix + "SEARXNG_URL", Flag: "searxng-url"},
		{Variable: Prefix + "CRAWLER_URL", Flag: "crawler-url"},
		{Variable: Prefix + "CRAWLER_TOKEN", Flag: "crawler-token"},
		{Variable: Prefix + "SUBSCRIPTION_AUTH"},
		{Variable: Prefix + "SESSION_TITLE_GENERATION"},
		{Variable: Prefix + "DOCS_ACCOUNT"},
		{Variable: Prefix + "DOCS_ACCOUNT_FILE"},
	}
}

func checkBackend(value string) error {
	if slices.Contains([]string{"", "off", "none", "microsandbox"}, value) {
		return nil
	}
	return fmt.Errorf("%q is no sandbox that Loam knows: use microsandbox, or off", value)
}

func (a Alias) matches(variable string) bool {
	if stem, open := strings.CutSuffix(a.Variable, "*"); open {
		return strings.HasPrefix(variable, stem)
	}
	return variable == a.Variable
}

func aliasOf(variable string) (Alias, bool) {
	table := Aliases()
	i := slices.IndexFunc(table, func(a Alias) bool { return a.matches(variable) })
	if i < 0 {
		return Alias{}, false
	}
	return table[i], true
}

// defaults of the listening address when a variable names only half of it.
const (
	defaultHost = "127.0.0.1"
	defaultPort = "3050"
)

// fromAliases is the value of a flag that aliases set. An empty variable counts as absent.
func fromAliases(flag string, lookup func(string) (string, bool)) (string, bool) {
	get := func(variable string) string {
		value, _ := lookup(variable)
		return strings.TrimSpace(value)
	}
	if flag == "listen" {
		host, port := get(Prefix+"HTTP_HOSTNAME"), get(Prefix+"HTTP_PORT")
		if host == "" && port == "" {
			return "", false
		}
		return joinListen(host, port), true
	}
	for _, a := range Aliases() {
		if a.Flag == flag {
			value := get(a.Variable)
			return value, value != ""
		}
	}
	return "", false
}

func joinListen(host, port string) string {
	if host == "" {
		host = defaultHost
	}
	if port == "" {
		port = defaultPort
	}
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}

// CheckAliases looks at the variables of an environment ("NAME=value") that begin with Prefix. An error names one whose
// value cannot be meant; notes name, in order, those that change nothing in this version.
func CheckAliases(environ []string) (notes []string, err error) {
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		variable, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(variable, Prefix) {
			continue
		}
		a, known := aliasOf(variable)
		if !known {
			notes = append(notes, variable+" is unknown and was ignored")
			continue
		}
		if a.check != nil {
			if err := a.check(value); err != nil {
				return nil, fmt.Errorf("%s: %w", variable, err)
			}
		}
		if a.Flag == "" {
			notes = append(notes, variable+" is not used by this version")
		}
	}
	return notes, nil
}
