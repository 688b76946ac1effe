package postgres

import (
	"strings"
	"testing"
)

func TestRebindTouchesPlaceholdersOnly(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"SELECT 1":                                "SELECT 1",
		"SELECT ?, ?":                             "SELECT $1, $2",
		"SELECT '?', ?":                           "SELECT '?', $1",
		"SELECT 'it''s ?', ?":                     "SELECT 'it''s ?', $1",
		`SELECT "a?""b?" FROM t WHERE x = ?`:      `SELECT "a?""b?" FROM t WHERE x = $1`,
		"SELECT ? -- really?\n, ?":                "SELECT $1 -- really?\n, $2",
		"SELECT /* ? /* ? */ ? */ ?":              "SELECT /* ? /* ? */ ? */ $1",
		"SELECT $$ ? $$, $tag$ ? $$ ? $tag$, ?":   "SELECT $$ ? $$, $tag$ ? $$ ? $tag$, $1",
		"SELECT '?":                               "SELECT '?",
		"SELECT ? /* ?":                           "SELECT $1 /* ?",
		"SELECT ?::bigint, a$b, ? - ? / ?":        "SELECT $1::bigint, a$b, $2 - $3 / $4",
		strings.Repeat("?,", 11) + "?":            "$1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12",
		"SELECT 'ключ?', ? WHERE \"имя?\" = ?":    "SELECT 'ключ?', $1 WHERE \"имя?\" = $2",
		"INSERT INTO t VALUES (?, '?', \"?\", ?)": "INSERT INTO t VALUES ($1, '?', \"?\", $2)",
	}
	for query, want := range cases {
		if got := rebind(query); got != want {
			t.Errorf("%s\n got %s\nwant %s", query, got, want)
		}
	}
}

// FuzzRebind holds rebind to its two promises for any input: what is not a placeholder is copied, and the numbers count up.
func FuzzRebind(f *testing.F) {
	for _, seed := range []string{"SELECT ?", "'?'", "$a$?$a$?", "/*?*/?", "--?\n?", `"?"?`, "$1?", "''''?"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		rest := query
		n := 0
		for i := 0; i < len(rest); {
			if rest[i] == '?' {
				n++
				i++
				continue
			}
			length := tokenLength(rest[i:])
			if length < 1 || i+length > len(rest) {
				t.Fatalf("token of %d bytes at %d of %d", length, i, len(rest))
			}
			i += length
		}
		got := rebind(query)
		if n == 0 && got != query {
			t.Errorf("%q became %q without a placeholder", query, got)
		}
		if strings.Count(query, "?")-strings.Count(got, "?") != n {
			t.Errorf("%q became %q with %d placeholders", query, got, n)
		}
	})
}
