package wire_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

type envelopeVector struct {
	Name        string          `json:"name"`
	Signer      string          `json:"signer"`
	Account     string          `json:"account"`
	Action      json.RawMessage `json:"action"`
	Extra       json.RawMessage `json:"extra"`
	SigningHex  string          `json:"signingHex"`
	SigHex      string          `json:"sigHex"`
	EnvelopeHex string          `json:"envelopeHex"`
	SigOffset   int             `json:"sigOffsetInEnvelope"`
}

type vectors struct {
	Keys map[string]struct {
		SeedHex string `json:"seedHex"`
	} `json:"keys"`
	Envelopes    []envelopeVector `json:"envelopes"`
	Capabilities []struct {
		CID     string `json:"cid"`
		DataHex string `json:"dataHex"`
	} `json:"capabilities"`
	Responses []struct {
		Value wire.ErrorResponse `json:"value"`
		Hex   string             `json:"hex"`
	} `json:"responses"`
	Negative []struct {
		Name        string `json:"name"`
		EnvelopeHex string `json:"envelopeHex"`
		Error       string `json:"error"`
	} `json:"negative"`
}

// vectorTime is when every envelope of the vectors was signed.
var vectorTime = time.UnixMilli(1750000000123)

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

func key(t testing.TB, name string) *principal.Key {
	t.Helper()
	k, err := principal.NewKey(unhex(t, loadVectors(t).Keys[name].SeedHex))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// keyOf finds the vectors' key of a principal.
func keyOf(t testing.TB, id string) *principal.Key {
	t.Helper()
	for name := range loadVectors(t).Keys {
		if k := key(t, name); k.ID().String() == id {
			return k
		}
	}
	t.Fatalf("no key of %s", id)
	return nil
}

// expand reads the vectors' notation of bytes, {"$bytes": "<hex>"}.
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
		for k := range v {
			v[k] = expand(t, v[k])
		}
	}
	return v
}

func fromJSON(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	v, err := dagcbor.FromJSON(raw)
	if err != nil {
		t.Fatal(err)
	}
	return expand(t, v).(map[string]any)
}

func decode(t testing.TB, body []byte) map[string]any {
	t.Helper()
	fields, err := wire.DecodeEnvelope(body)
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

func TestEnvelopesSignAsTheReferenceDoes(t *testing.T) {
	t.Parallel()
	for _, tc := range loadVectors(t).Envelopes {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			account, err := principal.ParseID(tc.Account)
			if err != nil {
				t.Fatal(err)
			}
			var o wire.SignOptions
			for k, v := range fromJSON(t, tc.Extra) {
				switch k {
				case "protocol":
					o.Protocol = int(v.(int64))
				case "capability":
					o.Capability = v.(string)
				case "capabilityBlob":
					o.CapabilityBlob = v.([]byte)
				default:
					t.Fatalf("the vectors have a key %s that SignOptions lacks", k)
				}
			}
			body, err := wire.Sign(keyOf(t, tc.Signer), account, fromJSON(t, tc.Action), o)
			if err != nil {
				t.Fatal(err)
			}
			if got := hex.EncodeToString(body); got != tc.EnvelopeHex {
				t.Errorf("body\n got %s\nwant %s", got, tc.EnvelopeHex)
			}
			if got := hex.EncodeToString(body[tc.SigOffset : tc.SigOffset+64]); got != tc.SigHex {
				t.Errorf("signature %s, want %s", got, tc.SigHex)
			}
		})
	}
}

func TestEnvelopesOfTheReferenceVerify(t *testing.T) {
	t.Parallel()
	for _, tc := range loadVectors(t).Envelopes {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			fields := decode(t, unhex(t, tc.EnvelopeHex))
			message, err := principal.SigningBytes(fields)
			if err != nil || hex.EncodeToString(message) != tc.SigningHex {
				t.Errorf("signed bytes %x, %v", message, err)
			}
			e, err := wire.Verify(fields, vectorTime, 0)
			if err != nil {
				t.Fatal(err)
			}
			action := fromJSON(t, tc.Action)
			extra := fromJSON(t, tc.Extra)
			if e.Signer.String() != tc.Signer || e.Account.String() != tc.Account || e.Name != action["_"] || e.TS != vectorTime.UnixMilli() {
				t.Errorf("envelope %+v", e)
			}
			wantProtocol := 1
			if p, ok := extra["protocol"].(int64); ok {
				wantProtocol = int(p)
			}
			wantCapability, _ := extra["capability"].(string)
			wantBlob, _ := extra["capabilityBlob"].([]byte)
			if e.Protocol != wantProtocol || e.Capability != wantCapability || string(e.CapabilityBlob) != string(wantBlob) {
				t.Errorf("protocol %d, capability %q, blob %x", e.Protocol, e.Capability, e.CapabilityBlob)
			}
			if e.Capability != "" {
				blob := e.CapabilityBlob
				if blob == nil {
					blob = unhex(t, loadVectors(t).Capabilities[0].DataHex)
				}
				if _, err := principal.VerifyDelegation(blob, e.Capability, e.Account, e.Signer); err != nil {
					t.Errorf("delegation: %v", err)
				}
			}
		})
	}
}

func TestNegativeVectorsFailWithTheirText(t *testing.T) {
	t.Parallel()
	for _, tc := range loadVectors(t).Negative {
		t.Run(tc.Name, func(t *testing.T) {
			t.Parallel()
			e, err := wire.Verify(decode(t, unhex(t, tc.EnvelopeHex)), vectorTime, wire.ClockWindow)
			if tc.Error == wire.MsgNotAuthorized {
				// The signature holds; that nobody delegated to the signer is for the server to know.
				if err != nil || e.Signer == e.Account {
					t.Errorf("Verify = %+v, %v", e, err)
				}
				return
			}
			wantAuthError(t, err, tc.Error)
		})
	}
}

func wantAuthError(t *testing.T, err error, message string) {
	t.Helper()
	var auth *wire.AuthError
	if !errors.As(err, &auth) || auth.Message != message {
		t.Errorf("error %v, want %q", err, message)
	}
}

func TestChecksRunInOrder(t *testing.T) {
	t.Parallel()
	k := key(t, "account")
	// Each step repairs one more field of an envelope that is wrong in all of them.
	fields := map[string]any{"sig": []byte{}, "action": []any{}, "protocol": int64(2)}
	steps := []struct {
		repair string
		value  any
		want   string
	}{
		{"type", "AgentAction", wire.MsgInvalidEnvelopeType},
		{"type", wire.EnvelopeType, wire.MsgInvalidSigner},
		{"signer", []byte{0xed, 0x01}, wire.MsgInvalidSigner},
		{"signer", k.ID().String(), wire.MsgInvalidSigner},
		{"signer", k.ID().Bytes(), wire.MsgInvalidAccount},
		{"account", append([]byte{0xed, 0x02}, k.ID().PublicKey()...), wire.MsgInvalidAccount},
		{"account", k.ID().Bytes(), wire.MsgInvalidSignatureBytes},
		{"sig", make([]byte, 12), wire.MsgInvalidSignatureBytes},
		{"sig", make([]byte, 64), wire.MsgInvalidAction},
		{"action", map[string]any{}, wire.MsgInvalidAction},
		{"action", map[string]any{"_": int64(1)}, wire.MsgInvalidAction},
		{"action", map[string]any{"_": "ListAgents"}, wire.MsgInvalidTimestamp},
		{"action", map[string]any{"_": "ListAgents", "ts": "now"}, wire.MsgInvalidTimestamp},
		{"action", map[string]any{"_": "ListAgents", "ts": nil}, wire.MsgInvalidTimestamp},
		{"action", map[string]any{"_": "ListAgents", "ts": int64(math.MinInt64)}, wire.MsgOutsideWindow},
		{"action", map[string]any{"_": "ListAgents", "ts": uint64(math.MaxUint64)}, wire.MsgOutsideWindow},
		{"action", map[string]any{"_": "ListAgents", "ts": 1e300}, wire.MsgOutsideWindow},
		{"action", map[string]any{"_": "ListAgents", "ts": vectorTime.UnixMilli()}, wire.MsgInvalidSignature},
	}
	if _, err := wire.Verify(nil, vectorTime, 0); err == nil {
		t.Error("no envelope verified")
	}
	for _, step := range steps {
		fields[step.repair] = step.value
		_, err := wire.Verify(fields, vectorTime, wire.ClockWindow)
		wantAuthError(t, err, step.want)
	}
}

func TestWindowIsInclusiveBothWays(t *testing.T) {
	t.Parallel()
	k := key(t, "account")
	for _, tc := range []struct {
		offset time.Duration
		ok     bool
	}{
		{0, true}, {5 * time.Minute, true}, {-5 * time.Minute, true},
		{5*time.Minute + time.Millisecond, false}, {-5*time.Minute - time.Millisecond, false},
	} {
		body, err := wire.Sign(k, k.ID(), map[string]any{"_": "ListAgents"}, wire.SignOptions{TS: vectorTime.Add(tc.offset).UnixMilli()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = wire.Verify(decode(t, body), vectorTime, wire.ClockWindow)
		if tc.ok && err != nil {
			t.Errorf("%v: %v", tc.offset, err)
		} else if !tc.ok {
			wantAuthError(t, err, wire.MsgOutsideWindow)
		}
	}
}

func TestFractionalTimestampKeepsItsMilliseconds(t *testing.T) {
	t.Parallel()
	k := key(t, "account")
	body, err := wire.Sign(k, k.ID(), map[string]any{"_": "ListAgents", "ts": 1750000000123.75}, wire.SignOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := wire.Verify(decode(t, body), vectorTime, time.Second)
	if err != nil || e.TS != vectorTime.UnixMilli() {
		t.Errorf("Verify = %+v, %v", e, err)
	}
}

func TestUnknownKeysAreCoveredByTheSignature(t *testing.T) {
	t.Parallel()
	k := key(t, "account")
	body, err := principal.SignBlob(k, map[string]any{
		"type": wire.EnvelopeType, "account": k.ID().Bytes(), "future": []any{int64(1 << 60), 0.5},
		"action": map[string]any{"_": "ListAgents", "ts": vectorTime.UnixMilli()},
	})
	if err != nil {
		t.Fatal(err)
	}
	fields := decode(t, body)
	first, err := wire.Verify(fields, vectorTime, 0)
	if err != nil {
		t.Fatal(err)
	}
	again, err := wire.Verify(decode(t, body), vectorTime, 0)
	if err != nil || first.Digest != again.Digest {
		t.Errorf("the same envelope has two digests: %v", err)
	}
	delete(fields, "future")
	_, err = wire.Verify(fields, vectorTime, 0)
	wantAuthError(t, err, wire.MsgInvalidSignature)
}

func TestDecodeEnvelopeTellsBadBytesFromBadShapes(t *testing.T) {
	t.Parallel()
	for _, body := range [][]byte{nil, {0xff}, {0xa1}, []byte("{}"), {0xa0, 0x00}} {
		if _, err := wire.DecodeEnvelope(body); !errors.Is(err, wire.ErrInvalidCBOR) {
			t.Errorf("%x: %v", body, err)
		}
	}
	for _, body := range [][]byte{{0x80}, {0xf6}, {0x61, 'x'}} {
		_, err := wire.DecodeEnvelope(body)
		wantAuthError(t, err, wire.MsgInvalidEnvelope)
	}
}

func TestDeclaredProtocolDefaultsToOne(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		declared any
		want     int
	}{{nil, 1}, {int64(0), 1}, {int64(-3), 1}, {"2", 1}, {1.5, 1}, {uint64(math.MaxUint64), 1}, {int64(1), 1}, {int64(3), 3}, {int64(math.MaxInt64), math.MaxInt32}} {
		if got := wire.DeclaredProtocol(map[string]any{"protocol": tc.declared}); got != tc.want {
			t.Errorf("protocol %v reads as %d, want %d", tc.declared, got, tc.want)
		}
	}
}

func TestSignRefusesAnActionWithoutNameOrTime(t *testing.T) {
	t.Parallel()
	k := key(t, "account")
	for _, action := range []map[string]any{nil, {"_": 1, "ts": 1}, {"_": "", "ts": 1}, {"_": "ListAgents"}, {"_": "X", "ts": math.NaN()}} {
		if _, err := wire.Sign(k, k.ID(), action, wire.SignOptions{}); err == nil {
			t.Errorf("%v was signed", action)
		}
	}
	action := map[string]any{"_": "ListAgents"}
	if _, err := wire.Sign(k, k.ID(), action, wire.SignOptions{TS: 1}); err != nil || len(action) != 1 {
		t.Errorf("Sign changed the action to %v, %v", action, err)
	}
}

func TestTextFrameIsAnArrayOfBytes(t *testing.T) {
	t.Parallel()
	got, err := wire.DecodeTextFrame([]byte(" [161, 97,0 ,255]"))
	if err != nil || string(got) != "\xa1\x61\x00\xff" {
		t.Errorf("DecodeTextFrame = %x, %v", got, err)
	}
	for _, frame := range []string{"", "null", `"oWE="`, "{}", "[256]", "[-1]", "[1.5]", `["1"]`, "[1", "[1] 2"} {
		if body, err := wire.DecodeTextFrame([]byte(frame)); !errors.Is(err, wire.ErrInvalidCBOR) {
			t.Errorf("%s: %x, %v", frame, body, err)
		}
	}
}

func TestErrorResponsesEncodeAsTheReferenceDoes(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, tc := range loadVectors(t).Responses {
		if tc.Value.Type != wire.ErrorType {
			continue
		}
		seen++
		got, err := wire.EncodeError(tc.Value.Message, tc.Value.Code)
		if err != nil || hex.EncodeToString(got) != tc.Hex {
			t.Errorf("%+v: %x, %v", tc.Value, got, err)
		}
	}
	if seen == 0 {
		t.Error("the vectors hold no error")
	}
	if _, err := wire.EncodeError("\xff", ""); err != nil {
		t.Errorf("a message that is not UTF-8: %v", err)
	}
}

func TestTextsWithAVariablePart(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		wire.MsgUnsupportedAction("Fly"):         "Unsupported action: Fly",
		wire.MsgRequired("Agent name"):           "Agent name is required",
		wire.MsgTooLarge("Agent name"):           "Agent name is too large",
		wire.MsgCapabilityFetch("bafy", "reset"): "Failed to fetch capability bafy: reset",
		wire.MsgCapabilityMissing("bafy"):        "Capability bafy is not available on the HM network",
		wire.MsgContentType:                      "Content-Type must be application/cbor",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func FuzzVerify(f *testing.F) {
	v := loadVectors(f)
	for _, tc := range v.Envelopes {
		f.Add(unhex(f, tc.EnvelopeHex))
	}
	for _, tc := range v.Negative {
		f.Add(unhex(f, tc.EnvelopeHex))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		fields, err := wire.DecodeEnvelope(body)
		if err != nil {
			return
		}
		e, err := wire.Verify(fields, vectorTime, wire.ClockWindow)
		if err != nil {
			var auth *wire.AuthError
			if !errors.As(err, &auth) {
				t.Fatalf("an error of another type: %v", err)
			}
			return
		}
		if e.Signer.IsZero() || e.Account.IsZero() || e.Action == nil {
			t.Fatalf("verified %+v", e)
		}
	})
}

func FuzzTextFrame(f *testing.F) {
	f.Add([]byte("[1,2,3]"))
	f.Fuzz(func(t *testing.T, frame []byte) {
		body, err := wire.DecodeTextFrame(frame)
		if err == nil && len(body)*2 > len(frame) {
			t.Fatalf("%d bytes out of %q", len(body), frame)
		}
	})
}

func BenchmarkDecodeAndVerify(b *testing.B) {
	for _, i := range []int{3, 5} {
		tc := loadVectors(b).Envelopes[i]
		body := unhex(b, tc.EnvelopeHex)
		b.Run(fmt.Sprintf("%dB", len(body)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fields, err := wire.DecodeEnvelope(body)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := wire.Verify(fields, vectorTime, wire.ClockWindow); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
