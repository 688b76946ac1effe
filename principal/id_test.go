package principal_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mr-tron/base58"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/principal"
)

type keyVector struct {
	SeedHex         string `json:"seedHex"`
	PublicKeyHex    string `json:"publicKeyHex"`
	PrincipalHex    string `json:"principalHex"`
	PrincipalString string `json:"principalString"`
}

type capabilityVector struct {
	Role     string `json:"role"`
	Label    string `json:"label"`
	Path     string `json:"path"`
	TS       int64  `json:"ts"`
	Issuer   string `json:"issuer"`
	Delegate string `json:"delegate"`
	CID      string `json:"cid"`
	DataHex  string `json:"dataHex"`
	SigHex   string `json:"sigHex"`
}

type vectors struct {
	Keys         map[string]keyVector `json:"keys"`
	Capabilities []capabilityVector   `json:"capabilities"`
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

// key is a key of the vectors: account, device or agentKey.
func key(t testing.TB, name string) *principal.Key {
	t.Helper()
	k, err := principal.NewKey(unhex(t, loadVectors(t).Keys[name].SeedHex))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKeysHaveTheReferencePrincipal(t *testing.T) {
	t.Parallel()
	for name, tc := range loadVectors(t).Keys {
		k := key(t, name)
		if got := k.ID().String(); got != tc.PrincipalString {
			t.Errorf("%s: text %s, want %s", name, got, tc.PrincipalString)
		}
		if got := hex.EncodeToString(k.ID().Bytes()); got != tc.PrincipalHex {
			t.Errorf("%s: bytes %s, want %s", name, got, tc.PrincipalHex)
		}
		if got := hex.EncodeToString(k.ID().PublicKey()); got != tc.PublicKeyHex {
			t.Errorf("%s: public key %s, want %s", name, got, tc.PublicKeyHex)
		}
		parsed, err := principal.ParseID(tc.PrincipalString)
		if err != nil || parsed != k.ID() {
			t.Errorf("%s: ParseID = %v, %v", name, parsed, err)
		}
		if got := hex.EncodeToString(k.Seed()); got != tc.SeedHex {
			t.Errorf("%s: seed %s", name, got)
		}
	}
}

func TestParseIDRefusesEveryOtherForm(t *testing.T) {
	t.Parallel()
	id := key(t, "account").ID()
	z := func(b ...byte) string { return "z" + base58.Encode(b) }
	for name, in := range map[string]string{
		"empty":                 "",
		"multibase alone":       "z",
		"base16":                "f" + hex.EncodeToString(id.Bytes()),
		"base32":                "b" + strings.ToLower(id.String()[1:]),
		"no multibase":          id.String()[1:],
		"upper case prefix":     "Z" + id.String()[1:],
		"not base58":            id.String()[:10] + "0" + id.String()[11:],
		"33 bytes":              z(id.Bytes()[:33]...),
		"35 bytes":              z(append(id.Bytes(), 0)...),
		"leading zero":          "z1" + id.String()[1:],
		"another codec":         z(append([]byte{0xed, 0x02}, id.PublicKey()...)...),
		"secp256k1 codec":       z(append([]byte{0xe7, 0x01}, id.PublicKey()...)...),
		"surrounding space":     id.String() + " ",
		"longer than any bound": "z" + strings.Repeat("2", 1<<16),
	} {
		if got, err := principal.ParseID(in); !errors.Is(err, principal.ErrInvalidID) {
			t.Errorf("%s: ParseID = %v, %v", name, got, err)
		}
	}
	if _, err := principal.FromPublicKey(id.PublicKey()[:31]); !errors.Is(err, principal.ErrInvalidID) {
		t.Errorf("FromPublicKey of 31 bytes: %v", err)
	}
}

func TestIDIsTextInJSONAndCBOR(t *testing.T) {
	t.Parallel()
	type owner struct {
		ID   principal.ID            `json:"id"`
		None principal.ID            `json:"none"`
		Map  map[principal.ID]string `json:"map"`
	}
	id := key(t, "account").ID()
	in := owner{ID: id, Map: map[principal.ID]string{id: "x"}}
	viaJSON, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"` + id.String() + `","none":"","map":{"` + id.String() + `":"x"}}`
	if string(viaJSON) != want {
		t.Errorf("JSON %s, want %s", viaJSON, want)
	}
	viaCBOR, err := dagcbor.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var fromCBOR, fromJSON owner
	if err := dagcbor.Unmarshal(viaCBOR, &fromCBOR); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(viaJSON, &fromJSON); err != nil {
		t.Fatal(err)
	}
	for _, out := range []owner{fromCBOR, fromJSON} {
		if out.ID != id || !out.None.IsZero() || out.Map[id] != "x" {
			t.Errorf("read back %+v", out)
		}
	}
	if err := json.Unmarshal([]byte(`{"id":"z6Mk"}`), &fromJSON); err == nil {
		t.Error("a bad principal was read from JSON")
	}
}

func TestVerifyAcceptsOnlyTheSignerOverTheMessage(t *testing.T) {
	t.Parallel()
	k, other := key(t, "account"), key(t, "device")
	sig := k.Sign([]byte("message"))
	bad := append([]byte(nil), sig...)
	bad[0] ^= 1
	for name, tc := range map[string]struct {
		id      principal.ID
		message string
		sig     []byte
		want    bool
	}{
		"right":         {k.ID(), "message", sig, true},
		"other message": {k.ID(), "massage", sig, false},
		"other signer":  {other.ID(), "message", sig, false},
		"flipped bit":   {k.ID(), "message", bad, false},
		"short":         {k.ID(), "message", sig[:12], false},
		"empty":         {k.ID(), "message", nil, false},
		"no principal":  {principal.ID{}, "message", sig, false},
	} {
		if got := principal.Verify(tc.id, []byte(tc.message), tc.sig); got != tc.want {
			t.Errorf("%s: Verify = %v", name, got)
		}
	}
}

func FuzzParseID(f *testing.F) {
	f.Add(key(f, "account").ID().String())
	f.Add("z1111")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := principal.ParseID(text)
		if err == nil && id.String() != text {
			t.Fatalf("%q and %q are two texts of one principal", text, id)
		}
	})
}
