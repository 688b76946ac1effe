package dagcbor_test

import (
	"bytes"
	"testing"

	"github.com/loam-agents/loam/dagcbor"
)

// FuzzDecode: whatever decodes has one canonical form, which decodes to the same form again, and has a JSON form.
func FuzzDecode(f *testing.F) {
	v := loadVectors(f)
	for _, tc := range v.CBOR {
		f.Add(unhex(f, tc.Hex))
	}
	for _, tc := range v.Envelopes {
		f.Add(unhex(f, tc.EnvelopeHex))
	}
	f.Add([]byte{0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0xf9, 0x3e, 0x00})
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if dagcbor.Unmarshal(data, &v) != nil {
			return
		}
		once, err := dagcbor.Reencode(v)
		if err != nil {
			t.Fatalf("%x decodes but does not encode: %v", data, err)
		}
		twice, err := dagcbor.Canonical(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("not stable: %x, then %x, %v", once, twice, err)
		}
		if _, err := dagcbor.ToJSON(v); err != nil {
			t.Fatalf("no JSON form: %v", err)
		}
		var into struct {
			A any            `json:"a"`
			B []int          `json:"b"`
			C map[string]any `json:"c"`
		}
		_ = dagcbor.Unmarshal(data, &into)
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"/":{"bytes":"AA"},"a":[1,2.5,null,true,"x"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := dagcbor.FromJSON(data)
		if err != nil {
			return
		}
		encoded, err := dagcbor.Marshal(v)
		if err != nil {
			return
		}
		if _, err := dagcbor.Canonical(encoded); err != nil {
			t.Fatalf("%s encodes as %x, which does not decode: %v", data, encoded, err)
		}
	})
}

func BenchmarkUnmarshal(b *testing.B) {
	data := unhex(b, loadVectors(b).Envelopes[5].EnvelopeHex)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var v any
		if err := dagcbor.Unmarshal(data, &v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshal(b *testing.B) {
	data := unhex(b, loadVectors(b).Envelopes[5].EnvelopeHex)
	v := decoded(b, data)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := dagcbor.Marshal(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMarshalStruct(b *testing.B) {
	v := record{base: base{ID: "x"}, Name: "n", List: []level{"a", "b"}, Bytes: []byte{1}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := dagcbor.Marshal(&v); err != nil {
			b.Fatal(err)
		}
	}
}
