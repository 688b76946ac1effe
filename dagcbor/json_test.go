package dagcbor_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/dagcbor"
)

func TestJSONNumbersFollowJavaScript(t *testing.T) {
	t.Parallel()
	got, err := dagcbor.FromJSON([]byte(`[1, 2.0, -0, 1e3, 0.5, 9007199254740991, 9007199254740992, 1e21]`))
	if err != nil {
		t.Fatal(err)
	}
	want := []any{int64(1), int64(2), int64(0), int64(1000), 0.5, int64(9007199254740991), float64(1 << 53), 1e21}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJSONKeepsBytesAndLinksInDAGJSONForm(t *testing.T) {
	t.Parallel()
	link := dagcbor.Sum([]byte{0xa0})
	in := map[string]any{"b": []byte{0xff, 0xfe}, "c": link, "t": "<&>", "n": []any{int64(1), 0.5, nil}}
	data, err := dagcbor.ToJSON(in)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"b":{"/":{"bytes":"//4"}},"c":{"/":"` + link.String() + `"},"n":[1,0.5,null],"t":"<&>"}`
	if string(data) != want {
		t.Errorf("ToJSON\n got %s\nwant %s", data, want)
	}
	back, err := dagcbor.FromDAGJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(in), back, cmp.Comparer(dagcbor.CID.Equals)); diff != "" {
		t.Errorf("FromDAGJSON (-want +got):\n%s", diff)
	}
	plain, err := dagcbor.FromJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, stays := plain.(map[string]any)["b"].(map[string]any); !stays {
		t.Errorf("FromJSON read a form: %v", plain)
	}
}

func TestBadJSONIsRefused(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "{", "1 2", "nul", `{"a":1e999}`} {
		if v, err := dagcbor.FromJSON([]byte(in)); err == nil {
			t.Errorf("FromJSON(%q) = %v", in, v)
		}
	}
	for _, in := range []string{`{"/":"nope"}`, `{"/":{"bytes":"*"}}`, `[`} {
		if v, err := dagcbor.FromDAGJSON([]byte(in)); err == nil {
			t.Errorf("FromDAGJSON(%q) = %v", in, v)
		}
	}
	if _, err := dagcbor.ToJSON(func() {}); err == nil {
		t.Error("ToJSON wrote a function")
	}
}

func TestParseCIDRefusesJunk(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "x", "bafy", "z" + strings.Repeat("2", 1000)} {
		if c, err := dagcbor.ParseCID(in); err == nil {
			t.Errorf("ParseCID(%.10q) = %v", in, c)
		}
	}
}
