package hypermedia_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/hypermedia"
)

func TestAddressesAreReadAsTheNetworksOtherProgramsDo(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/urls.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		URL, UID, Version string
		Path              []string
		Latest            bool
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		got, err := hypermedia.ParseAddress(c.URL)
		path := append(append([]string{}, got.Path...), got.Rest...)
		if got.View != "" {
			path = append(append(append([]string{}, got.Path...), ":"+got.View), got.Rest...)
		}
		if err != nil || got.UID != c.UID || got.Version != c.Version || got.Latest != c.Latest || !reflect.DeepEqual(path, c.Path) {
			t.Errorf("%s: %+v, %v", c.URL, got, err)
		}
	}
}

func TestAnAddressIsAskedForWithoutItsView(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"hm://u/a//b/": "hm://u/a/b", "hm://u/a/:directory": "hm://u/a", "hm://u/:comments/x/y?v=1": "hm://u?v=1", "hm://u/a?v=1&l#b+": "hm://u/a?v=1&l",
	} {
		if got, err := hypermedia.ParseAddress(address); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v", address, got, err)
		}
	}
	for _, address := range []string{"hm://", "hm:///", "https://x", "hm://u?v=%", "hm://" + strings.Repeat("x", 2044)} {
		if _, err := hypermedia.ParseAddress(address); fault.CodeOf(err) != fault.ValidationFailed {
			t.Errorf("%.40s: %v", address, err)
		}
	}
}
