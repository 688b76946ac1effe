package wire

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/principal"
)

// Envelope is a verified envelope. Its values are shared with the decoded map: treat them as read-only.
type Envelope struct {
	// Signer is the key that signed; Account the principal for whom the action is.
	Signer, Account principal.ID
	// Action is the whole action as generic values (see package dagcbor), with `_` and `ts`.
	Action map[string]any
	// Name is the action's `_`.
	Name string
	// TS is the action's timestamp in epoch milliseconds; a fraction is cut off.
	TS int64
	// Protocol is the version that the client speaks, 1 when it declares none.
	Protocol int
	// Capability is the CID of the blob by which Account delegated to Signer, as text; empty when absent. It is not checked.
	Capability string
	// CapabilityBlob holds the bytes of that blob, unchecked; nil when absent.
	CapabilityBlob []byte
	// Digest is the SHA-256 of the signed bytes. Two envelopes that say the same have the same digest.
	Digest [sha256.Size]byte
	// Raw is the whole envelope, with `sig` and the keys that this package does not know.
	Raw map[string]any
}

// SignOptions are the optional parts of an envelope.
type SignOptions struct {
	// TS is the timestamp to put into the action, in epoch milliseconds. Zero keeps the `ts` that the action has.
	TS int64
	// Protocol is the version to declare. Zero declares none, which servers read as 1.
	Protocol int
	// Capability is the CID of the capability that lets the key act for the account; CapabilityBlob its bytes, so that the
	// server need not fetch them. Both may be empty.
	Capability     string
	CapabilityBlob []byte
}

// Sign puts an action into an envelope, signed by the key for the account, and returns the body of the request or frame.
// The action needs `_`, as text, and a timestamp: `ts` or SignOptions.TS. Its values are those that dagcbor.Marshal
// takes. The map is not changed.
func Sign(key *principal.Key, account principal.ID, action map[string]any, o SignOptions) ([]byte, error) {
	if name, _ := action["_"].(string); name == "" {
		return nil, errors.New("wire: an action needs its name in \"_\"")
	}
	if o.TS != 0 {
		action = maps.Clone(action)
		action["ts"] = o.TS
	}
	if action["ts"] == nil {
		return nil, errors.New("wire: an action needs a timestamp")
	}
	fields := map[string]any{"type": EnvelopeType, "account": account.Bytes(), "action": action}
	if o.Protocol != 0 {
		fields["protocol"] = o.Protocol
	}
	if o.Capability != "" {
		fields["capability"] = o.Capability
	}
	if len(o.CapabilityBlob) != 0 {
		fields["capabilityBlob"] = o.CapabilityBlob
	}
	body, err := principal.SignBlob(key, fields)
	if err != nil {
		return nil, fmt.Errorf("wire: sign %v: %w", action["_"], err)
	}
	return body, nil
}

// DecodeEnvelope reads the bytes of a request or frame. Bytes that are not DAG-CBOR give ErrInvalidCBOR, a value that is
// not a map an *AuthError.
func DecodeEnvelope(body []byte) (map[string]any, error) {
	var v any
	if err := dagcbor.Unmarshal(body, &v); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidCBOR, err)
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, refuse(MsgInvalidEnvelope)
	}
	return fields, nil
}

// DeclaredProtocol is the version that a decoded envelope declares: 1 when `protocol` is absent, not an integer or below
// 1. A server refuses versions below MinClientProtocol before it verifies the envelope.
func DeclaredProtocol(fields map[string]any) int {
	declared, ok := fields["protocol"].(int64)
	if !ok || declared < 1 {
		return 1
	}
	return int(min(declared, math.MaxInt32))
}

// Verify checks a decoded envelope at the time now. The checks run in a fixed order: type, signer, account, signature
// bytes, action, timestamp, window, signature. The first that fails gives an *AuthError with its text. The window is
// inclusive and applies both ways; servers use ClockWindow.
//
// Verify does not check that the signer may act for the account.
func Verify(fields map[string]any, now time.Time, window time.Duration) (*Envelope, error) {
	e, sig, err := shape(fields)
	if err != nil {
		return nil, err
	}
	if err := e.checkTime(now, window); err != nil {
		return nil, err
	}
	message, err := principal.SigningBytes(fields)
	if err != nil || !principal.Verify(e.Signer, message, sig) {
		return nil, refuse(MsgInvalidSignature)
	}
	e.Digest = sha256.Sum256(message)
	return e, nil
}

// shape reads the known fields and checks their types.
func shape(fields map[string]any) (e *Envelope, sig []byte, err error) {
	if fields == nil {
		return nil, nil, refuse(MsgInvalidEnvelope)
	}
	if fields["type"] != EnvelopeType {
		return nil, nil, refuse(MsgInvalidEnvelopeType)
	}
	e = &Envelope{Raw: fields, Protocol: DeclaredProtocol(fields)}
	if e.Signer, err = idField(fields, "signer"); err != nil {
		return nil, nil, refuse(MsgInvalidSigner)
	}
	if e.Account, err = idField(fields, "account"); err != nil {
		return nil, nil, refuse(MsgInvalidAccount)
	}
	if sig, _ = fields["sig"].([]byte); len(sig) != principal.SignatureSize {
		return nil, nil, refuse(MsgInvalidSignatureBytes)
	}
	e.Action, _ = fields["action"].(map[string]any)
	name, ok := e.Action["_"].(string)
	if !ok {
		return nil, nil, refuse(MsgInvalidAction)
	}
	e.Name = name
	e.Capability, _ = fields["capability"].(string)
	e.CapabilityBlob, _ = fields["capabilityBlob"].([]byte)
	return e, sig, nil
}

func idField(fields map[string]any, key string) (principal.ID, error) {
	b, _ := fields[key].([]byte)
	return principal.FromBytes(b)
}

// checkTime compares in float64, in which every number of a decoded envelope has a value and cannot overflow.
func (e *Envelope) checkTime(now time.Time, window time.Duration) error {
	var ts float64
	switch v := e.Action["ts"].(type) {
	case int64:
		ts = float64(v)
	case uint64:
		ts = float64(v)
	case float64:
		ts = v
	default:
		return refuse(MsgInvalidTimestamp)
	}
	if math.Abs(float64(now.UnixMilli())-ts) > float64(window)/float64(time.Millisecond) {
		return refuse(MsgOutsideWindow)
	}
	e.TS = int64(ts)
	return nil
}
