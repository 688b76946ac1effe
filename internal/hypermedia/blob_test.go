package hypermedia_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/hypermedia"
	"github.com/loam-agents/loam/principal"
)

// vector is a blob that the network's other programs made and its daemon accepted.
type vector struct {
	Hex, CID string
	TS       int64
}

type vectors struct {
	Keys                                                                               map[string]struct{ Seed string }
	GenesisChangeA, HomeChange, HomeRef, Profile, ProfileMinimal, DocumentCreateChange vector
	UnixFS                                                                             []struct {
		Name  string
		Size  int
		CID   string
		Blobs []string
	}
}

func load(t *testing.T) (vectors, *principal.Key) {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	seed, err := hex.DecodeString(v.Keys["A"].Seed)
	if err != nil {
		t.Fatal(err)
	}
	k, err := principal.NewKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	return v, k
}

func TestBlobsAreThoseOfTheNetwork(t *testing.T) {
	t.Parallel()
	v, k := load(t)
	genesis, err := hypermedia.Genesis(k)
	if err != nil {
		t.Fatal(err)
	}
	home, err := dagcbor.ParseCID(v.HomeChange.CID)
	if err != nil {
		t.Fatal(err)
	}
	name := map[string]any{"type": "SetAttributes", "attrs": []any{map[string]any{"key": []any{"name"}, "value": "Alice"}}}
	for what, c := range map[string]struct {
		want vector
		make func() (hypermedia.Blob, error)
	}{
		"genesis": {v.GenesisChangeA, func() (hypermedia.Blob, error) { return genesis, nil }},
		"home change": {v.HomeChange, func() (hypermedia.Blob, error) {
			return hypermedia.Change(k, genesis.CID, []any{name}, v.HomeChange.TS)
		}},
		"home reference": {v.HomeRef, func() (hypermedia.Blob, error) { return hypermedia.HomeRef(k, genesis.CID, home, v.HomeRef.TS) }},
		"profile":        {v.ProfileMinimal, func() (hypermedia.Blob, error) { return hypermedia.Profile(k, "Alice", "", v.ProfileMinimal.TS) }},
		"document change": {v.DocumentCreateChange, func() (hypermedia.Blob, error) {
			return hypermedia.Change(k, genesis.CID, operations(t, v), v.DocumentCreateChange.TS)
		}},
	} {
		got, err := c.make()
		if err != nil || hex.EncodeToString(got.Data) != c.want.Hex || got.CID.String() != c.want.CID {
			t.Errorf("%s: %v\n got %x %s\nwant %s %s", what, err, got.Data, got.CID, c.want.Hex, c.want.CID)
		}
	}
}

// operations are those of a document that another program made.
func operations(t *testing.T, v vectors) []any {
	t.Helper()
	raw, err := hex.DecodeString(v.DocumentCreateChange.Hex)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := principal.VerifyBlob(raw)
	if err != nil {
		t.Fatal(err)
	}
	return fields["body"].(map[string]any)["ops"].([]any)
}

func TestAHomeDocumentHasItsNameAndOneParagraph(t *testing.T) {
	t.Parallel()
	v, k := load(t)
	blobs, err := hypermedia.Home(k, "Scribe", "abcdefgh", "I write.", 1_800_000_000_000)
	if err != nil || len(blobs) != 3 || blobs[0].CID.String() != v.GenesisChangeA.CID {
		t.Fatalf("%d blobs, %v", len(blobs), err)
	}
	for _, b := range blobs {
		if _, err := principal.VerifyBlob(b.Data); err != nil {
			t.Errorf("%s: %v", b.CID, err)
		}
	}
	change, _ := principal.VerifyBlob(blobs[1].Data)
	ref, _ := principal.VerifyBlob(blobs[2].Data)
	body := change["body"].(map[string]any)
	ops := body["ops"].([]any)
	block := ops[1].(map[string]any)["block"].(map[string]any)
	if body["opCount"] != int64(3) || change["depth"] != int64(1) || block["text"] != "I write." || block["id"] != "abcdefgh" {
		t.Errorf("the change is %v", change)
	}
	if heads := ref["heads"].([]any); heads[0] != any(blobs[1].CID) || ref["generation"] != int64(1) || ref["path"] != nil {
		t.Errorf("the reference is %v", ref)
	}
	pictured, err := hypermedia.Profile(k, "Scribe", "ipfs://x", 1)
	if err != nil {
		t.Fatal(err)
	}
	if fields, err := principal.VerifyBlob(pictured.Data); err != nil || fields["avatar"] != "ipfs://x" {
		t.Errorf("a profile with a picture: %v %v", fields, err)
	}
}

func TestFilesAreCutAsTheNetworkDoes(t *testing.T) {
	t.Parallel()
	v, _ := load(t)
	for _, want := range v.UnixFS {
		data := make([]byte, want.Size)
		for i := range data {
			data[i] = byte(i % 251)
		}
		if want.Name == "small" {
			data = []byte("Hello, Seed!\n")
		}
		blobs, err := hypermedia.File(data)
		if err != nil || blobs[0].CID.String() != want.CID || len(blobs) != len(want.Blobs) {
			t.Errorf("%s: %d blobs, root %s, want %d, %s: %v", want.Name, len(blobs), blobs[0].CID, len(want.Blobs), want.CID, err)
			continue
		}
		if last := len(blobs) - 1; last > 0 && !slices.Contains(want.Blobs, blobs[last].CID.String()) {
			t.Errorf("%s: the last leaf is %s", want.Name, blobs[last].CID)
		}
	}
	if _, err := hypermedia.File(make([]byte, hypermedia.MaxFile+1)); err == nil {
		t.Error("a file that one node cannot hold was cut")
	}
	if blobs, err := hypermedia.File(make([]byte, hypermedia.MaxFile)); err != nil || len(blobs) != 175 {
		t.Errorf("the largest file: %d blobs, %v", len(blobs), err)
	}
}
