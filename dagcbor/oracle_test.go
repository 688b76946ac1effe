package dagcbor_test

import (
	"bytes"
	"testing"

	"github.com/ipld/go-ipld-prime"
	oracle "github.com/ipld/go-ipld-prime/codec/dagcbor"
	"github.com/ipld/go-ipld-prime/node/basicnode"
	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"
	"github.com/loam-agents/loam/dagcbor"
)

// values draws generic values in normal form.
func values(depth int) *rapid.Generator[any] {
	leaves := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Bool().AsAny(),
		rapid.Int64Range(-(1<<53 - 1), 1<<53-1).AsAny(),
		rapid.Float64Range(0.1, 0.9).AsAny(),
		rapid.String().AsAny(),
		rapid.SliceOf(rapid.Byte()).AsAny(),
		rapid.Custom(func(t *rapid.T) any { return dagcbor.Sum(rapid.SliceOf(rapid.Byte()).Draw(t, "hashed")) }),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	inner := values(depth - 1)
	return rapid.OneOf(append(leaves,
		rapid.SliceOfN(inner, 0, 6).AsAny(),
		rapid.MapOfN(rapid.String(), inner, 0, 6).AsAny(),
	)...)
}

func TestEveryValueSurvivesAndAgreesWithTheOracle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := values(4).Draw(t, "value")
		data, err := dagcbor.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out any
		if err := dagcbor.Unmarshal(data, &out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(in, out, cmp.Comparer(dagcbor.CID.Equals)); diff != "" {
			t.Fatalf("round trip (-in +out):\n%s", diff)
		}
		theirs, err := throughOracle(data)
		if err != nil {
			t.Fatalf("the oracle refuses %x: %v", data, err)
		}
		if !bytes.Equal(theirs, data) {
			t.Fatalf("the oracle writes %x, we %x", theirs, data)
		}
	})
}

// throughOracle decodes strictly and encodes with go-ipld-prime.
func throughOracle(data []byte) ([]byte, error) {
	node, err := ipld.DecodeUsingPrototype(data, oracle.DecodeOptions{AllowLinks: true}.Decode, basicnode.Prototype.Any)
	if err != nil {
		return nil, err
	}
	return ipld.Encode(node, oracle.Encode)
}
