package dagcbor_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/dagcbor"
)

type base struct {
	ID      string `json:"id"`
	Shadow  string `json:"name"`
	Ignored string `json:"-"`
}

// letter reads and writes itself as one text, through pointer methods.
type letter struct{ r rune }

func (l *letter) PackDAGCBOR() (any, error) { return string(l.r), nil }

func (l *letter) UnpackDAGCBOR(v any) error {
	s, ok := v.(string)
	if !ok || len(s) != 1 {
		return errors.New("want one letter")
	}
	l.r = rune(s[0])
	return nil
}

type level string

type record struct {
	base
	Name    string            `json:"name"`
	Tagged  int               `json:"wrong" cbor:"right"`
	Count   int               `json:"count,omitempty"`
	Ratio   float64           `json:"ratio"`
	Whole   float64           `json:"whole"`
	Any     any               `json:"any"`
	Raw     json.RawMessage   `json:"raw,omitempty"`
	Number  json.Number       `json:"number,omitempty"`
	Bytes   []byte            `json:"bytes"`
	Hash    [2]byte           `json:"hash"`
	List    []level           `json:"list"`
	Texts   map[level]string  `json:"texts"`
	Pointer *int              `json:"pointer,omitempty"`
	Null    *int              `json:"null"`
	When    time.Time         `json:"when,omitzero"`
	Letter  letter            `json:"letter"`
	Letters map[string]letter `json:"-"`
	Small   uint8             `json:"small"`
	private string
}

func TestStructsFollowTheirTags(t *testing.T) {
	t.Parallel()
	seven := 7
	in := record{
		base: base{ID: "x", Shadow: "lost", Ignored: "lost"}, Name: "kept", Tagged: 1, Ratio: 0.5, Whole: 2,
		Any: map[string]any{"f": 3.0, "raw": json.RawMessage(`[1.0,null]`)}, Raw: json.RawMessage(`{"k":[1e2,0.5]}`),
		Number: "4.0", Bytes: []byte{1}, Hash: [2]byte{8, 9}, List: []level{"a"}, Texts: map[level]string{"k": "v"},
		Pointer: &seven, When: time.UnixMilli(0).UTC(), Letter: letter{'q'}, Small: 255, private: "lost",
	}
	data, err := dagcbor.Marshal(&in)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"id": "x", "name": "kept", "right": int64(1), "ratio": 0.5, "whole": int64(2),
		"any": map[string]any{"f": int64(3), "raw": []any{int64(1), nil}}, "raw": map[string]any{"k": []any{int64(100), 0.5}},
		"number": int64(4), "bytes": []byte{1}, "hash": []byte{8, 9}, "list": []any{"a"}, "texts": map[string]any{"k": "v"},
		"pointer": int64(7), "null": nil, "when": "1970-01-01T00:00:00Z", "letter": "q", "small": int64(255),
	}
	if diff := cmp.Diff(want, decoded(t, data)); diff != "" {
		t.Fatalf("encoded (-want +got):\n%s", diff)
	}
	var out record
	if err := dagcbor.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	in.Shadow, in.Ignored, in.private = "", "", ""
	in.Any = want["any"]
	in.Raw, in.Number = json.RawMessage(`{"k":[100,0.5]}`), "4"
	if diff := cmp.Diff(in, out, cmp.AllowUnexported(record{}, letter{}, base{})); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
}

func TestAbsentAndNilValues(t *testing.T) {
	t.Parallel()
	type values struct {
		Omitted  []int           `json:"omitted,omitempty"`
		List     []int           `json:"list"`
		Map      map[string]int  `json:"map"`
		Bytes    []byte          `json:"bytes"`
		Pointer  *int            `json:"pointer"`
		OmitZero struct{ N int } `json:"omitZero,omitzero"`
	}
	if got, want := marshaled(t, values{}), marshaled(t, map[string]any{
		"list": []any{}, "map": map[string]any{}, "bytes": []byte{}, "pointer": nil,
	}); got != want {
		t.Errorf("zero struct = %s, want %s", got, want)
	}
	out := values{List: []int{1}, Map: map[string]int{"kept": 1}}
	if err := dagcbor.Unmarshal(unhex(t, marshaled(t, map[string]any{"list": nil, "unknown": 1})), &out); err != nil {
		t.Fatal(err)
	}
	if out.List != nil || out.Map["kept"] != 1 {
		t.Errorf("null must clear and absence must keep: %+v", out)
	}
}

func TestEmbeddedPointersAreOptional(t *testing.T) {
	t.Parallel()
	type Inner struct {
		A int `json:"a,omitempty"`
	}
	type outer struct {
		*Inner
		B int `json:"b"`
	}
	if got := marshaled(t, outer{B: 1}); got != "a1616201" {
		t.Errorf("nil embedded pointer = %s", got)
	}
	var out outer
	if err := dagcbor.Unmarshal(unhex(t, "a2616105616206"), &out); err != nil || out.A != 5 || out.B != 6 {
		t.Errorf("decoded %+v, %v", out, err)
	}
}

func TestMismatchNamesThePath(t *testing.T) {
	t.Parallel()
	type inner struct {
		List []int8 `json:"list"`
	}
	type outer struct {
		Inner inner          `json:"inner"`
		Text  string         `json:"text"`
		Float float32        `json:"float"`
		Flag  bool           `json:"flag"`
		Bytes [2]byte        `json:"bytes"`
		Map   map[string]int `json:"map"`
		CID   dagcbor.CID    `json:"cid"`
		Un    uint8          `json:"un"`
		Func  func()         `json:"func"`
	}
	for _, tc := range []struct {
		in   any
		want string
	}{
		{map[string]any{"inner": map[string]any{"list": []any{1, 300}}}, "dagcbor: inner.list[1] must be an integer in the range of int8, not integer"},
		{map[string]any{"inner": []any{}}, "dagcbor: inner must be map, not list"},
		{map[string]any{"text": []byte{1}}, "dagcbor: text must be text, not bytes"},
		{map[string]any{"float": "x"}, "dagcbor: float must be number, not text"},
		{map[string]any{"flag": 1.5}, "dagcbor: flag must be boolean, not float"},
		{map[string]any{"bytes": []byte{1}}, "dagcbor: bytes must be 2 bytes, not 1 bytes"},
		{map[string]any{"bytes": true}, "dagcbor: bytes must be bytes, not boolean"},
		{map[string]any{"map": map[string]any{"k": "v"}}, "dagcbor: map.k must be an integer in the range of int, not text"},
		{map[string]any{"cid": "text"}, "dagcbor: cid must be link, not text"},
		{map[string]any{"un": -1}, "dagcbor: un must be an integer in the range of uint8, not integer"},
		{map[string]any{"func": 1}, "dagcbor: func: cannot decode into type func()"},
		{"text", "dagcbor: the value must be map, not text"},
	} {
		err := dagcbor.Unmarshal(unhex(t, marshaled(t, tc.in)), &outer{})
		if err == nil || err.Error() != tc.want {
			t.Errorf("%v: error %v, want %s", tc.in, err, tc.want)
		}
	}
}

func TestMarshalRefusesWhatHasNoEncoding(t *testing.T) {
	t.Parallel()
	type twice struct {
		A int `cbor:"x"`
		B int `cbor:"x"`
	}
	cycle := map[string]any{}
	cycle["self"] = cycle
	type node struct{ Next *node }
	ring := &node{}
	ring.Next = ring
	for name, v := range map[string]any{
		"not a number":   math.NaN(),
		"infinity":       []any{math.Inf(-1)},
		"invalid text":   "\xff",
		"invalid key":    map[string]any{"\xff": 1},
		"undefined CID":  dagcbor.CID{},
		"function":       func() {},
		"integer keys":   map[int]string{1: "x"},
		"complex":        complex(1, 2),
		"same name":      twice{},
		"bad number":     json.Number("0x10"),
		"empty number":   json.Number(""),
		"huge number":    json.Number("1e999"),
		"bad JSON":       json.RawMessage("{"),
		"two JSON texts": json.RawMessage("1 2"),
		"map cycle":      cycle,
		"pointer cycle":  ring,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if data, err := dagcbor.Marshal(v); err == nil {
				t.Errorf("encoded as %x", data)
			} else if !strings.HasPrefix(err.Error(), "dagcbor: encode: ") {
				t.Errorf("error %v does not say where it is from", err)
			}
		})
	}
}

func TestIntegersBeyondJavaScriptBecomeFloatsOnlyInMarshal(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in                any
		marshal, reencode string
	}{
		{int64(1<<53 - 1), "1b001fffffffffffff", "1b001fffffffffffff"},
		{int64(1 << 53), "fb4340000000000000", "1b0020000000000000"},
		{int64(-1 << 53), "fbc340000000000000", "3b001fffffffffffff"},
		{uint64(1 << 63), "fb43e0000000000000", "1b8000000000000000"},
		{uint16(5), "05", "05"},
		{json.Number("9007199254740993"), "fb4340000000000000", "fb4340000000000000"},
	} {
		if got := marshaled(t, tc.in); got != tc.marshal {
			t.Errorf("Marshal(%v) = %s, want %s", tc.in, got, tc.marshal)
		}
		again, err := dagcbor.Reencode(tc.in)
		if err != nil || string(again) != string(unhex(t, tc.reencode)) {
			t.Errorf("Reencode(%v) = %x, %v, want %s", tc.in, again, err, tc.reencode)
		}
	}
}
