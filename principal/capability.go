package principal

import (
	"regexp"

	"github.com/loam-agents/loam/dagcbor"
)

// Roles that let a delegate act through the agents protocol.
const (
	RoleAgent  = "AGENT"
	RoleWriter = "WRITER"
)

const (
	capabilityType = "Capability"
	// MaxCapabilitySize is the largest capability blob that is looked at, in bytes.
	MaxCapabilitySize = 64 << 10
)

// The texts that peers see when a capability fails a check. Their wording is part of the protocol.
const (
	MsgCapabilityCID        = "Invalid capability CID"
	MsgCapabilityBytes      = "Invalid capability bytes"
	MsgCapabilityTooLarge   = "Capability blob is too large"
	MsgCapabilityCBOR       = "Capability is not valid CBOR"
	MsgCapabilityMismatch   = "Capability bytes do not match the envelope capability CID"
	MsgCapabilityType       = "Blob is not a Capability"
	MsgCapabilitySigner     = "Invalid capability signer"
	MsgCapabilityDelegateID = "Invalid capability delegate"
	MsgCapabilitySignature  = "Invalid capability signature"
	MsgCapabilityDelegate   = "Capability delegate does not match envelope signer"
	MsgCapabilityRole       = "Capability role does not permit agent actions"
	MsgCapabilitySelf       = "Capability delegates to its own issuer"
	MsgCapabilityIssuer     = "Capability was not issued by the envelope account"
)

// CapabilityError says which check a capability failed.
type CapabilityError struct {
	// Message is one of the Msg texts, for the peer to read.
	Message string
}

// Error implements error.
func (e *CapabilityError) Error() string { return e.Message }

func refuse(message string) error { return &CapabilityError{Message: message} }

// Capability is a signed statement that its issuer lets a delegate act for it.
type Capability struct {
	// Issuer signed the capability: the account that delegates.
	Issuer ID
	// Delegate may act for the issuer.
	Delegate ID
	// Role is RoleAgent, RoleWriter or a role that permits nothing here.
	Role string
	// TS is when it was issued, in epoch milliseconds.
	TS int64
	// Path, Label and Audience are optional, and carried without being evaluated. Audience is the zero value when absent.
	Path, Label string
	Audience    ID
	// CID is the address of the canonical encoding.
	CID dagcbor.CID
}

// NewCapability signs a capability as the key's principal. Delegate, Role and TS are needed; Issuer and CID are ignored.
// It returns the blob, of which dagcbor.Sum is the CID.
func NewCapability(k *Key, c Capability) ([]byte, error) {
	fields := map[string]any{"type": capabilityType, "delegate": c.Delegate.Bytes(), "role": c.Role, "ts": c.TS}
	if c.Path != "" {
		fields["path"] = c.Path
	}
	if c.Label != "" {
		fields["label"] = c.Label
	}
	if !c.Audience.IsZero() {
		fields["audience"] = c.Audience.Bytes()
	}
	return SignBlob(k, fields)
}

// ParseCapability decodes a capability and checks its shape and signature, but not what it permits: see Permits. Errors
// are *CapabilityError, from the first check that fails: bytes, size, encoding, type, signer, delegate, signature.
func ParseCapability(raw []byte) (*Capability, error) {
	fields, err := decodeCapability(raw)
	if err != nil {
		return nil, err
	}
	return checkCapability(fields)
}

func decodeCapability(raw []byte) (map[string]any, error) {
	if len(raw) == 0 {
		return nil, refuse(MsgCapabilityBytes)
	}
	if len(raw) > MaxCapabilitySize {
		return nil, refuse(MsgCapabilityTooLarge)
	}
	var v any
	if err := dagcbor.Unmarshal(raw, &v); err != nil {
		return nil, refuse(MsgCapabilityCBOR)
	}
	// A value that is no map fails the next check, the type, as it has none.
	fields, _ := v.(map[string]any)
	return fields, nil
}

func checkCapability(fields map[string]any) (*Capability, error) {
	if fields["type"] != capabilityType {
		return nil, refuse(MsgCapabilityType)
	}
	issuer, err := idField(fields, fieldSigner)
	if err != nil {
		return nil, refuse(MsgCapabilitySigner)
	}
	delegate, err := idField(fields, "delegate")
	if err != nil {
		return nil, refuse(MsgCapabilityDelegateID)
	}
	if !verifyFields(issuer, fields) {
		return nil, refuse(MsgCapabilitySignature)
	}
	canonical, err := dagcbor.Reencode(fields)
	if err != nil {
		return nil, refuse(MsgCapabilityCBOR)
	}
	c := &Capability{Issuer: issuer, Delegate: delegate, CID: dagcbor.Sum(canonical)}
	c.Role, _ = fields["role"].(string)
	c.Path, _ = fields["path"].(string)
	c.Label, _ = fields["label"].(string)
	c.TS, _ = fields["ts"].(int64)
	c.Audience, _ = idField(fields, "audience")
	return c, nil
}

// Permits checks that the capability lets signer act for the issuer: the delegate is the signer, the role is AGENT or
// WRITER, and the issuer is somebody else. Errors are *CapabilityError.
func (c *Capability) Permits(signer ID) error {
	switch {
	case c.Delegate != signer:
		return refuse(MsgCapabilityDelegate)
	case c.Role != RoleAgent && c.Role != RoleWriter:
		return refuse(MsgCapabilityRole)
	case c.Issuer == c.Delegate:
		return refuse(MsgCapabilitySelf)
	}
	return nil
}

var capabilityCID = regexp.MustCompile(`^[a-z0-9]{10,}$`)

// CheckCapabilityCID checks the text by which an envelope names its capability, before anybody fetches it.
func CheckCapabilityCID(text string) error {
	if !capabilityCID.MatchString(text) {
		return refuse(MsgCapabilityCID)
	}
	return nil
}

// VerifyDelegation checks the proof that an envelope carries: raw is the capability named by cid, and it lets signer act
// for account. Errors are *CapabilityError, from the first check that fails: the CID's text, the bytes, their size and
// encoding, the CID of their canonical encoding, then the checks of ParseCapability and Permits, and last the issuer.
func VerifyDelegation(raw []byte, cid string, account, signer ID) (*Capability, error) {
	if err := CheckCapabilityCID(cid); err != nil {
		return nil, err
	}
	fields, err := decodeCapability(raw)
	if err != nil {
		return nil, err
	}
	canonical, err := dagcbor.Canonical(raw)
	if err != nil {
		return nil, refuse(MsgCapabilityCBOR)
	}
	if dagcbor.Sum(canonical).String() != cid {
		return nil, refuse(MsgCapabilityMismatch)
	}
	c, err := checkCapability(fields)
	if err != nil {
		return nil, err
	}
	if err := c.Permits(signer); err != nil {
		return nil, err
	}
	if c.Issuer != account {
		return nil, refuse(MsgCapabilityIssuer)
	}
	return c, nil
}
