package principal_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/principal"
)

func TestSignedBlobVerifiesWithAllItsKeys(t *testing.T) {
	t.Parallel()
	k := key(t, "account")
	blob := map[string]any{"type": "Profile", "ts": 1.0, "deep": map[string]any{"sig": []byte{1}}, "name": "Ann"}
	raw, err := principal.SignBlob(k, blob)
	if err != nil {
		t.Fatal(err)
	}
	if _, changed := blob["sig"]; changed {
		t.Error("SignBlob changed the caller's map")
	}
	fields, err := principal.VerifyBlob(raw)
	if err != nil || fields["name"] != "Ann" || fields["ts"] != int64(1) {
		t.Errorf("VerifyBlob = %v, %v", fields, err)
	}
	again, err := principal.SignBlob(k, fields)
	if err != nil || !bytes.Equal(again, raw) {
		t.Errorf("signing again gives other bytes: %v", err)
	}
}

func TestSignBlobRefusesAForeignSigner(t *testing.T) {
	t.Parallel()
	for _, signer := range []any{key(t, "device").ID().Bytes(), "z6Mk", 7} {
		_, err := principal.SignBlob(key(t, "account"), map[string]any{"signer": signer})
		if !errors.Is(err, principal.ErrBlobSigner) {
			t.Errorf("signer %v: %v", signer, err)
		}
	}
	if _, err := principal.SignBlob(key(t, "account"), map[string]any{"f": func() {}}); err == nil {
		t.Error("a blob without encoding was signed")
	}
}

func TestVerifyBlobNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	k := key(t, "account")
	signed := func(change func(map[string]any)) []byte {
		raw, err := principal.SignBlob(k, map[string]any{"type": "X", "n": 1})
		if err != nil {
			t.Fatal(err)
		}
		fields, err := principal.VerifyBlob(raw)
		if err != nil {
			t.Fatal(err)
		}
		change(fields)
		out, err := dagcbor.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for name, tc := range map[string]struct {
		raw  []byte
		want error
	}{
		"no CBOR":         {[]byte{0xff}, principal.ErrBlobEncoding},
		"no map":          {[]byte{0x80}, principal.ErrBlobShape},
		"no signer":       {signed(func(f map[string]any) { delete(f, "signer") }), principal.ErrBlobSigner},
		"signer as text":  {signed(func(f map[string]any) { f["signer"] = k.ID().String() }), principal.ErrBlobSigner},
		"other signer":    {signed(func(f map[string]any) { f["signer"] = key(t, "device").ID().Bytes() }), principal.ErrBlobSignature},
		"no signature":    {signed(func(f map[string]any) { delete(f, "sig") }), principal.ErrBlobSignature},
		"short signature": {signed(func(f map[string]any) { f["sig"] = []byte{1} }), principal.ErrBlobSignature},
		"changed value":   {signed(func(f map[string]any) { f["n"] = 2 }), principal.ErrBlobSignature},
		"added key":       {signed(func(f map[string]any) { f["extra"] = nil }), principal.ErrBlobSignature},
	} {
		if _, err := principal.VerifyBlob(tc.raw); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

func TestUnsortedBytesVerifyOnlyThroughTheirCanonicalForm(t *testing.T) {
	t.Parallel()
	raw, err := principal.SignBlob(key(t, "account"), map[string]any{"a": 1, "b": 2})
	if err != nil {
		t.Fatal(err)
	}
	swapped := bytes.Replace(raw, []byte("\x61a\x01\x61b\x02"), []byte("\x61b\x02\x61a\x01"), 1)
	if bytes.Equal(swapped, raw) {
		t.Fatal("nothing was swapped")
	}
	if _, err := principal.VerifyBlob(swapped); err != nil {
		t.Errorf("unsorted keys: %v", err)
	}
}

func TestCapabilitiesEncodeAndParseAsTheReferenceDoes(t *testing.T) {
	t.Parallel()
	for _, tc := range loadVectors(t).Capabilities {
		t.Run(tc.Role, func(t *testing.T) {
			t.Parallel()
			delegate, err := principal.ParseID(tc.Delegate)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := principal.NewCapability(key(t, "account"), principal.Capability{
				Delegate: delegate, Role: tc.Role, TS: tc.TS, Path: tc.Path, Label: tc.Label,
			})
			if err != nil || hex.EncodeToString(raw) != tc.DataHex {
				t.Fatalf("NewCapability = %x, %v\nwant %s", raw, err, tc.DataHex)
			}
			c, err := principal.ParseCapability(raw)
			if err != nil {
				t.Fatal(err)
			}
			if c.CID.String() != tc.CID || c.Issuer.String() != tc.Issuer || c.Delegate != delegate ||
				c.Role != tc.Role || c.Path != tc.Path || c.Label != tc.Label || c.TS != tc.TS {
				t.Errorf("parsed %+v", c)
			}
			if err := c.Permits(delegate); err != nil {
				t.Errorf("Permits: %v", err)
			}
			if _, err := principal.VerifyDelegation(raw, tc.CID, c.Issuer, delegate); err != nil {
				t.Errorf("VerifyDelegation: %v", err)
			}
		})
	}
}

// capability signs one that may break the rules.
func capability(t *testing.T, signer string, fields map[string]any) []byte {
	t.Helper()
	base := map[string]any{"type": "Capability", "role": "AGENT", "ts": 1, "delegate": key(t, "device").ID().Bytes()}
	for k, v := range fields {
		base[k] = v
	}
	raw, err := principal.SignBlob(key(t, signer), base)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestDelegationFailsWithTheTextOfTheFirstBrokenRule(t *testing.T) {
	t.Parallel()
	account, device := key(t, "account").ID(), key(t, "device").ID()
	good := capability(t, "account", nil)
	flipped := bytes.Replace(good, device.Bytes(), append(device.Bytes()[:33], device.Bytes()[33]^1), 1)
	unsigned, err := dagcbor.Marshal(map[string]any{"type": "Capability", "signer": []byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		raw    []byte
		cid    string
		issuer principal.ID
		want   string
	}{
		"good":              {good, "", account, ""},
		"writer":            {capability(t, "account", map[string]any{"role": "WRITER"}), "", account, ""},
		"bad CID":           {good, "BAFY/../x!", account, principal.MsgCapabilityCID},
		"short CID":         {good, "bafy", account, principal.MsgCapabilityCID},
		"no bytes":          {nil, "bafyreiaaaa", account, principal.MsgCapabilityBytes},
		"too large":         {make([]byte, principal.MaxCapabilitySize+1), "bafyreiaaaa", account, principal.MsgCapabilityTooLarge},
		"no CBOR":           {[]byte{0xff}, "bafyreiaaaa", account, principal.MsgCapabilityCBOR},
		"other CID":         {good, "bafyreiaaaa", account, principal.MsgCapabilityMismatch},
		"no map":            {[]byte{0x80}, "", account, principal.MsgCapabilityType},
		"other type":        {capability(t, "account", map[string]any{"type": "Profile"}), "", account, principal.MsgCapabilityType},
		"bad signer":        {unsigned, "", account, principal.MsgCapabilitySigner},
		"bad delegate":      {capability(t, "account", map[string]any{"delegate": []byte{1}}), "", account, principal.MsgCapabilityDelegateID},
		"flipped delegate":  {flipped, "", account, principal.MsgCapabilitySignature},
		"other delegate":    {capability(t, "account", map[string]any{"delegate": key(t, "agentKey").ID().Bytes()}), "", account, principal.MsgCapabilityDelegate},
		"reader role":       {capability(t, "account", map[string]any{"role": "READER"}), "", account, principal.MsgCapabilityRole},
		"no role":           {capability(t, "account", map[string]any{"role": nil}), "", account, principal.MsgCapabilityRole},
		"self":              {capability(t, "device", nil), "", device, principal.MsgCapabilitySelf},
		"issued by another": {capability(t, "agentKey", nil), "", account, principal.MsgCapabilityIssuer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cid := tc.cid
			if cid == "" {
				cid = dagcbor.Sum(tc.raw).String()
			}
			_, err := principal.VerifyDelegation(tc.raw, cid, tc.issuer, device)
			var refused *principal.CapabilityError
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && (!errors.As(err, &refused) || refused.Message != tc.want):
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestAudienceIsCarried(t *testing.T) {
	t.Parallel()
	account, device := key(t, "account"), key(t, "device").ID()
	raw, err := principal.NewCapability(account, principal.Capability{Delegate: device, Role: principal.RoleAgent, Audience: device})
	if err != nil {
		t.Fatal(err)
	}
	c, err := principal.ParseCapability(raw)
	if err != nil || c.Audience != device {
		t.Errorf("audience %v, %v", c, err)
	}
}

func FuzzParseCapability(f *testing.F) {
	for _, tc := range loadVectors(f).Capabilities {
		f.Add(unhex(f, tc.DataHex))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := principal.ParseCapability(raw)
		var refused *principal.CapabilityError
		if err != nil && !errors.As(err, &refused) {
			t.Fatalf("an error of another type: %v", err)
		}
		if err == nil && c.Issuer.IsZero() {
			t.Fatal("a capability without issuer")
		}
	})
}
