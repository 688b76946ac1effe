package dagcbor_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/dagcbor"
)

func TestDecodeRefusesWhatHasASecondEncoding(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("81", dagcbor.MaxDepth+1) + "00"
	for name, in := range map[string]string{
		"nothing":                   "",
		"trailing bytes":            "0000",
		"duplicate key":             "a2616101616102",
		"8-bit head for a small":    "1817",
		"16-bit head for a byte":    "1900ff",
		"32-bit head for 16 bits":   "1a0000ffff",
		"64-bit head for 32 bits":   "1b00000000ffffffff",
		"negative not minimal":      "3817",
		"text length not minimal":   "780161",
		"bytes length not minimal":  "580100",
		"list length not minimal":   "980100",
		"map length not minimal":    "b801616100",
		"tag not minimal":           "d9002a4100",
		"indefinite list":           "9f00ff",
		"indefinite map":            "bf616100ff",
		"indefinite text":           "7f6161ff",
		"indefinite bytes":          "5f4100ff",
		"break alone":               "ff",
		"reserved head":             "1c",
		"integer key":               "a10000",
		"bytes key":                 "a1416100",
		"text is not UTF-8":         "61ff",
		"key is not UTF-8":          "a161ff00",
		"tag 0":                     "c06161",
		"tag 2 (big integer)":       "c24101",
		"tag 55799":                 "d9d9f700",
		"link without prefix":       "d82a4101",
		"link that is text":         "d82a6100",
		"link without CID":          "d82a4100",
		"simple value 19":           "f3",
		"simple value 32":           "f820",
		"not a number, 16 bits":     "f97e00",
		"infinity, 32 bits":         "fa7f800000",
		"not a number, 64 bits":     "fb7ff8000000000000",
		"negative below int64":      "3b8000000000000000",
		"text shorter than stated":  "6261",
		"bytes longer than memory":  "5b7fffffffffffffff00",
		"list longer than memory":   "9b7fffffffffffffff00",
		"map with half a pair":      "a16161",
		"head cut":                  "19ff",
		"nested deeper than limits": deep,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var v any
			err := dagcbor.Unmarshal(unhex(t, in), &v)
			var syntax *dagcbor.SyntaxError
			if !errors.As(err, &syntax) {
				t.Errorf("Unmarshal(%.40s) = %v, %v; want a SyntaxError", in, v, err)
			}
		})
	}
}

func TestDecodeToleratesWhatTheReferenceTolerates(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in        string
		want      any
		canonical string
	}{
		"unsorted keys":            {"a2626161016162f5", map[string]any{"aa": int64(1), "b": true}, "a26162f562616101"},
		"16-bit float":             {"f93e00", 1.5, "fb3ff8000000000000"},
		"16-bit integral float":    {"f94000", int64(2), "02"},
		"32-bit float":             {"fa3fc00000", 1.5, "fb3ff8000000000000"},
		"64-bit integral float":    {"fb4000000000000000", int64(2), "02"},
		"minus zero":               {"fb8000000000000000", int64(0), "00"},
		"undefined":                {"81f7", []any{nil}, "81f6"},
		"float beyond 2^53-1":      {"fb4340000000000000", float64(1 << 53), "fb4340000000000000"},
		"integer beyond 2^53-1":    {"1b0020000000000000", int64(1 << 53), "1b0020000000000000"},
		"integer beyond int64":     {"1bffffffffffffffff", uint64(1<<64 - 1), "1bffffffffffffffff"},
		"smallest negative":        {"3b7fffffffffffffff", int64(-1 << 63), "3b7fffffffffffffff"},
		"as deep as the limit":     {strings.Repeat("81", dagcbor.MaxDepth) + "00", nil, ""},
		"nested integral in lists": {"8181fb4008000000000000", []any{[]any{int64(3)}}, "818103"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := unhex(t, tc.in)
			got := decoded(t, in)
			if tc.want != nil {
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("decoded (-want +got):\n%s", diff)
				}
			}
			want := tc.canonical
			if want == "" {
				want = tc.in
			}
			out, err := dagcbor.Canonical(in)
			if err != nil || hex.EncodeToString(out) != want {
				t.Errorf("Canonical = %x, %v; want %s", out, err, want)
			}
		})
	}
}

func TestDecodeBoundsTheNumberOfItems(t *testing.T) {
	t.Parallel()
	// Two lists that stay below the limit each and exceed it together.
	half := append([]byte{0x9a, 0x00, 0x08, 0x00, 0x00}, make([]byte, dagcbor.MaxItems/2)...)
	data := append(append([]byte{0x82}, half...), half...)
	var v any
	if err := dagcbor.Unmarshal(data, &v); err == nil || !strings.Contains(err.Error(), "items") {
		t.Errorf("Unmarshal of %d items = %v", dagcbor.MaxItems+3, err)
	}
}

func TestUnmarshalNeedsAPointer(t *testing.T) {
	t.Parallel()
	for _, out := range []any{nil, 1, (*int)(nil)} {
		if err := dagcbor.Unmarshal([]byte{0}, out); err == nil {
			t.Errorf("Unmarshal into %T succeeded", out)
		}
	}
}

func TestSyntaxErrorNamesTheOffset(t *testing.T) {
	t.Parallel()
	var v any
	err := dagcbor.Unmarshal(unhex(t, "82001817"), &v)
	var syntax *dagcbor.SyntaxError
	if !errors.As(err, &syntax) || syntax.Offset != 2 {
		t.Errorf("error = %v, want offset 2", err)
	}
}
