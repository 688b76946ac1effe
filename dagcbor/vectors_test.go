package dagcbor_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/dagcbor"
)

type vectors struct {
	CBOR []struct {
		Name      string          `json:"name"`
		Value     json.RawMessage `json:"value"`
		Hex       string          `json:"hex"`
		Roundtrip json.RawMessage `json:"roundtrip"`
	} `json:"cbor"`
	Responses []struct {
		Value json.RawMessage `json:"value"`
		Hex   string          `json:"hex"`
	} `json:"responses"`
	ToolDocuments []struct {
		Name        string          `json:"name"`
		Document    json.RawMessage `json:"document"`
		DAGCBORHex  string          `json:"dagCborHex"`
		CID         string          `json:"cid"`
		CIDBytesHex string          `json:"cidBytesHex"`
	} `json:"toolDocuments"`
	Envelopes []struct {
		Name        string          `json:"name"`
		Action      json.RawMessage `json:"action"`
		EnvelopeHex string          `json:"envelopeHex"`
	} `json:"envelopes"`
}

func loadVectors(t testing.TB) vectors {
	t.Helper()
	data, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// vectorValue reads the vectors' notation: {"$bytes": "<hex>"} and {"$cid": "<text>"}.
func vectorValue(t testing.TB, raw []byte) any {
	t.Helper()
	v, err := dagcbor.FromJSON(raw)
	if err != nil {
		t.Fatal(err)
	}
	return expand(t, v)
}

func expand(t testing.TB, v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = expand(t, v[i])
		}
	case map[string]any:
		if b, ok := v["$bytes"].(string); ok {
			return unhex(t, b)
		}
		if c, ok := v["$cid"].(string); ok {
			parsed, err := dagcbor.ParseCID(c)
			if err != nil {
				t.Fatal(err)
			}
			return parsed
		}
		for k := range v {
			v[k] = expand(t, v[k])
		}
	}
	return v
}

func decoded(t testing.TB, data []byte) any {
	t.Helper()
	var v any
	if err := dagcbor.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func marshaled(t testing.TB, v any) string {
	t.Helper()
	data, err := dagcbor.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(data)
}

func TestCornerCasesEncodeAndDecodeAsTheReferenceDoes(t *testing.T) {
	t.Parallel()
	for _, tc := range loadVectors(t).CBOR {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			want := vectorValue(t, tc.Roundtrip)
			if diff := cmp.Diff(want, decoded(t, unhex(t, tc.Hex)), cmp.Comparer(dagcbor.CID.Equals)); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
			if tc.Hex == "a16161f7" {
				// Go has no undefined: its null is f6.
				if got := marshaled(t, want); got != "a16161f6" {
					t.Errorf("null encodes as %s", got)
				}
				return
			}
			if got := marshaled(t, vectorValue(t, tc.Value)); got != tc.Hex {
				t.Errorf("encoded\n got %s\nwant %s", got, tc.Hex)
			}
		})
	}
}

func TestResponsesEncodeAsTheReferenceDoes(t *testing.T) {
	t.Parallel()
	for _, tc := range loadVectors(t).Responses {
		if got := marshaled(t, vectorValue(t, tc.Value)); got != tc.Hex {
			t.Errorf("%s\n got %s\nwant %s", tc.Value, got, tc.Hex)
		}
	}
}

func TestToolDocumentsHaveTheReferenceCID(t *testing.T) {
	t.Parallel()
	for _, tc := range loadVectors(t).ToolDocuments {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			data, err := dagcbor.Marshal(tc.Document)
			if err != nil {
				t.Fatal(err)
			}
			if got := hex.EncodeToString(data); got != tc.DAGCBORHex {
				t.Errorf("bytes\n got %s\nwant %s", got, tc.DAGCBORHex)
			}
			sum := dagcbor.Sum(data)
			if sum.String() != tc.CID || hex.EncodeToString(sum.Bytes()) != tc.CIDBytesHex {
				t.Errorf("CID %s, want %s", sum, tc.CID)
			}
			parsed, err := dagcbor.ParseCID(tc.CID)
			if err != nil || parsed != sum {
				t.Errorf("ParseCID = %v, %v", parsed, err)
			}
		})
	}
}

func TestEnvelopesAreCanonical(t *testing.T) {
	t.Parallel()
	for _, tc := range loadVectors(t).Envelopes {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			data := unhex(t, tc.EnvelopeHex)
			got, err := dagcbor.Canonical(data)
			if err != nil || hex.EncodeToString(got) != tc.EnvelopeHex {
				t.Errorf("Canonical changed the bytes: %x, %v", got, err)
			}
			fields := decoded(t, data).(map[string]any)
			want := vectorValue(t, tc.Action)
			if diff := cmp.Diff(want, fields["action"]); diff != "" {
				t.Errorf("action (-want +got):\n%s", diff)
			}
		})
	}
}
