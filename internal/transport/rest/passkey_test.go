package rest_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// authenticator is a security key in software: real keys, real signatures.
type authenticator struct {
	t       *testing.T
	origin  string
	id      []byte
	key     *ecdsa.PrivateKey
	handle  string
	counter uint32
}

func newAuthenticator(t *testing.T, h *servertest.Harness) *authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	const idSize = 32
	a := &authenticator{t: t, key: key, id: make([]byte, idSize), origin: "http://localhost:" + h.URL[strings.LastIndex(h.URL, ":")+1:]}
	_, _ = rand.Read(a.id)
	return a
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// clientData is what a browser says of the ceremony.
func (a *authenticator) clientData(kind string, options object) []byte {
	a.t.Helper()
	body, err := json.Marshal(object{"type": "webauthn." + kind, "challenge": options["challenge"], "origin": a.origin})
	if err != nil {
		a.t.Fatal(err)
	}
	return body
}

// data is the head of what is signed: the hash of the name, flags, and the counter, which moves.
func (a *authenticator) data(name string, flags byte) []byte {
	const userPresent, userVerified = 1, 4
	sum := sha256.Sum256([]byte(name))
	a.counter++
	return binary.BigEndian.AppendUint32(append(sum[:], flags|userPresent|userVerified), a.counter)
}

// create answers a registration.
func (a *authenticator) create(options object) object {
	a.t.Helper()
	const attested = 0x40
	const aaguid = 16
	public, err := a.key.PublicKey.Bytes()
	if err != nil {
		a.t.Fatal(err)
	}
	half := (len(public) - 1) / 2
	// A key of type EC2 for ES256 on P-256, with its coordinates (RFC 9053).
	cose, err := cbor.Marshal(map[int]any{1: 2, 3: -7, -1: 1, -2: public[1 : 1+half], -3: public[1+half:]})
	if err != nil {
		a.t.Fatal(err)
	}
	data := append(a.data(options["rp"].(object)["id"].(string), attested), make([]byte, aaguid)...)
	data = binary.BigEndian.AppendUint16(data, uint16(len(a.id)))
	data = append(append(data, a.id...), cose...)
	attestation, err := cbor.Marshal(object{"fmt": "none", "attStmt": object{}, "authData": data})
	if err != nil {
		a.t.Fatal(err)
	}
	a.handle = options["user"].(object)["id"].(string)
	return object{"id": b64(a.id), "rawId": b64(a.id), "type": "public-key", "response": object{
		"clientDataJSON": b64(a.clientData("create", options)), "attestationObject": b64(attestation),
	}}
}

// get answers a sign-in.
func (a *authenticator) get(options object) object {
	a.t.Helper()
	client, data := a.clientData("get", options), a.data(options["rpId"].(string), 0)
	clientHash := sha256.Sum256(client)
	sum := sha256.Sum256(append(bytes.Clone(data), clientHash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, a.key, sum[:])
	if err != nil {
		a.t.Fatal(err)
	}
	return object{"id": b64(a.id), "rawId": b64(a.id), "type": "public-key", "response": object{
		"clientDataJSON": b64(client), "authenticatorData": b64(data), "signature": b64(signature), "userHandle": a.handle,
	}}
}

// register makes a passkey of the caller's account.
func (a *authenticator) register(api *servertest.REST, name string) servertest.Answer {
	a.t.Helper()
	asked := servertest.Post[wire.PasskeyChallenge](api, "/passkeys/begin", nil)
	return api.Do("POST", "/api/v1/passkeys/finish", object{"challengeId": asked.ChallengeID, "name": name, "credential": a.create(asked.PublicKey)})
}

// signIn signs a browser in; change may spoil what is sent.
func (a *authenticator) signIn(nobody *servertest.REST, change func(body object)) servertest.Answer {
	a.t.Helper()
	asked := servertest.Post[wire.PasskeyChallenge](nobody, "/sign-in/passkey/begin", nil)
	body := object{"challengeId": asked.ChallengeID, "credential": a.get(asked.PublicKey)}
	if change != nil {
		change(body)
	}
	return nobody.Do("POST", "/api/v1/sign-in/passkey/finish", body)
}

func TestAPasskeySignsItsAccountIn(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		h := servertest.Start(t, cfg)
		owner, nobody := h.REST(h.Token()), h.REST("").With("Host", "localhost")
		a, other := newAuthenticator(t, h), newAuthenticator(t, h)
		made := servertest.JSON[wire.PasskeyResponse](t, a.register(owner, "laptop")).Passkey
		if made.Name != "laptop" || made.ID == "" {
			t.Errorf("registered %+v", made)
		}
		// A passkey of another account signs that one in.
		stranger := h.REST(tokenOf(t, h, 7))
		servertest.JSON[wire.PasskeyResponse](t, other.register(stranger, "theirs"))
		for key, account := range map[*authenticator]string{a: h.Key.ID().String(), other: newKey(t, 7).ID().String()} {
			in := key.signIn(nobody, nil)
			if in.Status != http.StatusNoContent {
				t.Fatalf("sign in: %d %s", in.Status, in.Body)
			}
			browser := nobody.With("Cookie", in.Cookie())
			if me := servertest.Get[wire.CallerInfo](browser, "/me"); me.Account != account || me.Via != "cookie" {
				t.Errorf("it is %+v", me)
			}
			if list := servertest.Get[wire.ListSignInsResponse](browser, "/sign-ins").SignIns; len(list) != 1 || list[0].Method != "passkey" {
				t.Errorf("signed in are %+v", list)
			}
		}
		if list := servertest.Get[wire.ListPasskeysResponse](owner, "/passkeys").Passkeys; len(list) != 1 || list[0].LastUsedAt == 0 {
			t.Errorf("passkeys are %+v", list)
		}
		refused(t, a.register(owner, "again"), http.StatusConflict, "conflict")
		refused(t, stranger.Do("DELETE", "/api/v1/passkeys/"+made.ID, nil), http.StatusNotFound, "not_found")
		servertest.JSON[wire.PasskeyRequest](t, owner.Do("DELETE", "/api/v1/passkeys/"+made.ID, nil))
		refused(t, a.signIn(nobody, nil), http.StatusUnauthorized, "unauthenticated")
	})
}

func TestAPasskeyThatProvesNothingIsRefused(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		fake := clock.NewFake(time.Now())
		cfg.Clock = fake
		h := servertest.Start(t, cfg)
		owner, nobody := h.REST(h.Token()), h.REST("")
		a := newAuthenticator(t, h)
		servertest.JSON[wire.PasskeyResponse](t, a.register(owner, "laptop"))
		thief := newAuthenticator(t, h)
		thief.id, thief.handle = a.id, a.handle
		response := func(body object) object { return body["credential"].(object)["response"].(object) }
		stranger := newAuthenticator(t, h)
		stranger.handle = a.handle
		for name, c := range map[string]struct {
			key    *authenticator
			change func(body object)
		}{
			"another key":     {thief, nil},
			"an unknown one":  {stranger, nil},
			"another account": {a, func(b object) { response(b)["userHandle"] = b64([]byte("z6Mkother")) }},
			"no handle":       {a, func(b object) { delete(response(b), "userHandle") }},
			"no signature":    {a, func(b object) { response(b)["signature"] = "" }},
			"another challenge": {a, func(b object) {
				asked := servertest.Post[wire.PasskeyChallenge](nobody, "/sign-in/passkey/begin", nil)
				b["challengeId"] = asked.ChallengeID
			}},
			"a registration's": {a, func(b object) {
				b["challengeId"] = servertest.Post[wire.PasskeyChallenge](owner, "/passkeys/begin", nil).ChallengeID
			}},
			"no challenge": {a, func(b object) { delete(b, "challengeId") }},
			"nothing":      {a, func(b object) { delete(b, "credential") }},
			"too late":     {a, func(object) { fake.Advance(5 * time.Minute) }},
		} {
			t.Run(name, func(t *testing.T) {
				refused(t, c.key.signIn(nobody, c.change), http.StatusUnauthorized, "unauthenticated")
			})
		}
		elsewhere := *a
		elsewhere.origin = "http://evil.example"
		refused(t, elsewhere.signIn(nobody, nil), http.StatusUnauthorized, "unauthenticated")
		// The same answer twice: the challenge was used up.
		asked := servertest.Post[wire.PasskeyChallenge](nobody, "/sign-in/passkey/begin", nil)
		body := object{"challengeId": asked.ChallengeID, "credential": a.get(asked.PublicKey)}
		if in := nobody.Do("POST", "/api/v1/sign-in/passkey/finish", body); in.Status != http.StatusNoContent {
			t.Fatalf("sign in: %d %s", in.Status, in.Body)
		}
		refused(t, nobody.Do("POST", "/api/v1/sign-in/passkey/finish", body), http.StatusUnauthorized, "unauthenticated")
		// A copy whose counter stands behind.
		copied := *a
		copied.counter = 0
		refused(t, copied.signIn(nobody, nil), http.StatusUnauthorized, "unauthenticated")
		// A registration that was answered elsewhere, late, or by nobody.
		fresh := newAuthenticator(t, h)
		fresh.origin = "http://evil.example"
		refused(t, fresh.register(owner, "x"), http.StatusBadRequest, "validation_failed")
		begun := servertest.Post[wire.PasskeyChallenge](owner, "/passkeys/begin", nil)
		fake.Advance(5 * time.Minute)
		late := object{"challengeId": begun.ChallengeID, "name": "x", "credential": newAuthenticator(t, h).create(begun.PublicKey)}
		refused(t, owner.Do("POST", "/api/v1/passkeys/finish", late), http.StatusBadRequest, "validation_failed")
		refused(t, nobody.Do("POST", "/api/v1/passkeys/begin", nil), http.StatusUnauthorized, "unauthenticated")
	})
}

func TestPasskeysAreBoundToTheNameOfThePublicURL(t *testing.T) {
	t.Parallel()
	h := servertest.Start(t, server.Config{PublicURL: "https://loam.example.org:8443"})
	a := newAuthenticator(t, h)
	refused(t, a.register(h.REST(h.Token()), "x"), http.StatusBadRequest, "validation_failed")
	a.origin = "https://loam.example.org:8443"
	servertest.JSON[wire.PasskeyResponse](t, a.register(h.REST(h.Token()), "x"))
	if in := a.signIn(h.REST(""), nil); in.Status != http.StatusNoContent {
		t.Errorf("sign in: %d %s", in.Status, in.Body)
	}
	// Browsers bind nothing to an address.
	bare := servertest.Start(t, server.Config{PublicURL: "http://192.0.2.1:3050"})
	detail := refused(t, bare.REST(bare.Token()).Do("POST", "/api/v1/passkeys/begin", nil), http.StatusPreconditionFailed, "precondition_failed")
	if !strings.Contains(detail, "--public-url") {
		t.Errorf("says %q", detail)
	}
}
