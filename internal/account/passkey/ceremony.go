package passkey

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Ceremonies registers and recognises authenticators for one server.
type Ceremonies struct {
	web *webauthn.WebAuthn
	// reason says why there are no passkeys here; empty when there are.
	reason string
}

// New makes the ceremonies of a server that browsers reach under a host name, without a port, and an origin such as
// https://loam.example.org. Under a name that browsers bind no passkeys to, every ceremony is refused with the reason.
func New(name, origin string) *Ceremonies {
	web, err := webauthn.New(&webauthn.Config{
		RPID: name, RPDisplayName: "Loam", RPOrigins: []string{origin},
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationPreferred,
		},
	})
	if err == nil {
		err = protocol.ValidateRPID(name)
	}
	if err != nil {
		return &Ceremonies{reason: "Passkeys need a host name, and " + name + " is none: set --public-url"}
	}
	return &Ceremonies{web: web}
}

func (c *Ceremonies) usable() error {
	if c.reason != "" {
		return fault.New(fault.PreconditionFailed, "%s", c.reason)
	}
	return nil
}

// user is an account as the library sees it.
type user struct {
	account  string
	passkeys []Passkey
}

// WebAuthnID implements webauthn.User: a principal has less than the 64 bytes that there may be.
func (u user) WebAuthnID() []byte { return []byte(u.account) }

// WebAuthnName implements webauthn.User.
func (u user) WebAuthnName() string { return u.account }

// WebAuthnDisplayName implements webauthn.User.
func (u user) WebAuthnDisplayName() string { return "Loam" }

// WebAuthnCredentials implements webauthn.User.
func (u user) WebAuthnCredentials() []webauthn.Credential {
	out := make([]webauthn.Credential, len(u.passkeys))
	for i := range u.passkeys {
		out[i] = u.passkeys[i].credential
	}
	return out
}

func load(tx store.Tx, account string) (user, error) {
	list, _, err := List(tx, account, store.Page{})
	return user{account, list}, err
}

// BeginRegistration asks for a new passkey of an account.
func (c *Ceremonies) BeginRegistration(tx store.Tx, account string, now int64) (wire.PasskeyChallenge, error) {
	if err := c.usable(); err != nil {
		return wire.PasskeyChallenge{}, err
	}
	u, err := load(tx, account)
	if err != nil {
		return wire.PasskeyChallenge{}, err
	}
	if len(u.passkeys) >= MaxPerAccount {
		return wire.PasskeyChallenge{}, fault.New(fault.Conflict, "There are %d passkeys already: delete those that nobody uses", MaxPerAccount)
	}
	known := webauthn.Credentials(u.WebAuthnCredentials()).CredentialDescriptors()
	options, session, err := c.web.BeginRegistration(u, webauthn.WithExclusions(known))
	if err != nil {
		return wire.PasskeyChallenge{}, fmt.Errorf("begin a registration: %w", err)
	}
	return challenge(tx, account, session, options.Response, now)
}

// challenge keeps what was asked and hands it out as browsers read it.
func challenge(tx store.Tx, account string, session *webauthn.SessionData, options any, now int64) (out wire.PasskeyChallenge, err error) {
	if out.ChallengeID, err = ask(tx, account, session, now); err != nil {
		return out, err
	}
	body, err := json.Marshal(options)
	if err == nil {
		err = json.Unmarshal(body, &out.PublicKey)
	}
	return out, err
}

// RegisterParams is the answer to BeginRegistration.
type RegisterParams struct {
	// ID is a fresh identifier for the passkey.
	ID, Account, Name string
	ChallengeID       string
	// Credential is what the browser got, as JSON.
	Credential map[string]any
	// Now is epoch milliseconds.
	Now int64
}

// FinishRegistration checks the answer of an authenticator and keeps its passkey. An answer that proves nothing, and one to another
// challenge, is fault.ValidationFailed; a passkey that is there already fault.Conflict.
func (c *Ceremonies) FinishRegistration(tx store.Tx, p RegisterParams) (Passkey, error) {
	if err := c.usable(); err != nil {
		return Passkey{}, err
	}
	session, err := take(tx, p.Account, p.ChallengeID, p.Now)
	if err != nil {
		return Passkey{}, err
	}
	body, err := json.Marshal(p.Credential)
	if err != nil {
		return Passkey{}, fmt.Errorf("encode credential: %w", err)
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(body)
	if err != nil {
		return Passkey{}, refused(fault.ValidationFailed, err)
	}
	u, err := load(tx, p.Account)
	if err != nil {
		return Passkey{}, err
	}
	credential, err := c.web.CreateCredential(u, session, parsed)
	if err != nil {
		return Passkey{}, refused(fault.ValidationFailed, err)
	}
	made := Passkey{ID: p.ID, Account: p.Account, Name: p.Name, CreatedAt: p.Now, credential: *credential}
	return made, insert(tx, made)
}

// BeginSignIn asks for a passkey of anybody.
func (c *Ceremonies) BeginSignIn(tx store.Tx, now int64) (wire.PasskeyChallenge, error) {
	if err := c.usable(); err != nil {
		return wire.PasskeyChallenge{}, err
	}
	options, session, err := c.web.BeginDiscoverableLogin()
	if err != nil {
		return wire.PasskeyChallenge{}, fmt.Errorf("begin a sign-in: %w", err)
	}
	return challenge(tx, "", session, options.Response, now)
}

// FinishSignIn checks the answer of an authenticator and returns the account whose passkey it holds. Everything else is
// fault.Unauthenticated.
func (c *Ceremonies) FinishSignIn(tx store.Tx, challengeID string, credential map[string]any, now int64) (account string, err error) {
	if err := c.usable(); err != nil {
		return "", err
	}
	session, err := take(tx, "", challengeID, now)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(credential)
	if err != nil {
		return "", fmt.Errorf("encode credential: %w", err)
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(body)
	if err != nil {
		return "", refused(fault.Unauthenticated, err)
	}
	found, ok, err := byCredential(tx, parsed.RawID)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", refused(fault.Unauthenticated, errors.New("no such passkey"))
	}
	holder := func(_, handle []byte) (webauthn.User, error) {
		if string(handle) != found.Account {
			return nil, errors.New("the passkey is of another account")
		}
		return user{found.Account, []Passkey{found}}, nil
	}
	_, used, err := c.web.ValidatePasskeyLogin(holder, session, parsed)
	if err != nil {
		return "", refused(fault.Unauthenticated, err)
	}
	if used.Authenticator.CloneWarning {
		return "", refused(fault.Unauthenticated, errors.New("its counter went back: somebody may have copied it"))
	}
	return found.Account, use(tx, found.ID, used, now)
}

// refused says that a passkey proves nothing; why exactly is for the log.
func refused(code fault.Code, err error) error {
	if p, ok := errors.AsType[*protocol.Error](err); ok {
		err = fmt.Errorf("%s: %s", p.Details, p.DevInfo)
	}
	return fault.Wrap(err, code, "The passkey was not accepted")
}
