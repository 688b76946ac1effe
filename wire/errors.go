package wire

import (
	"errors"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/principal"
)

// Texts of the HTTP transport.
const (
	// MsgContentType answers, with status 415, a request of another media type.
	MsgContentType = "Content-Type must be " + MediaType
	// MsgInvalidCBOR answers, with status 400, a body that does not decode.
	MsgInvalidCBOR = "Invalid CBOR request"
	// MsgInternal answers, with status 500, whatever went wrong inside.
	MsgInternal = "Internal server error"
	// MsgUpgradeFailed answers, with status 400, a request for the WebSocket that is none.
	MsgUpgradeFailed = "WebSocket upgrade failed"
	// MsgProtocolTooOld answers, with status 426 and CodeProtocolTooOld, a version below MinClientProtocol.
	MsgProtocolTooOld = "This client is too old for the server. Update it and try again."
	// CodeProtocolTooOld is the one `code` that clients know.
	CodeProtocolTooOld = "protocol_too_old"
	// CodeDeleted stands in an unsubscribed frame of stream 2: what the key is about was deleted.
	CodeDeleted = "deleted"
)

// Texts of authentication, all with status 401, in the order of the checks.
const (
	MsgInvalidEnvelope       = "Invalid envelope"
	MsgInvalidEnvelopeType   = "Invalid envelope type"
	MsgInvalidSigner         = "Invalid signer"
	MsgInvalidAccount        = "Invalid account"
	MsgInvalidSignatureBytes = "Invalid signature bytes"
	MsgInvalidAction         = "Invalid action"
	MsgInvalidTimestamp      = "Invalid action timestamp"
	MsgOutsideWindow         = "Action timestamp is outside allowed window"
	MsgInvalidSignature      = "Invalid signature"
	// MsgNotAuthorized keeps its phrase: a client registers its key and tries again when it reads it.
	MsgNotAuthorized = "Signer is not authorized for account"
)

// Texts of delegation: those of package principal, and those of fetching a capability.
const (
	MsgCapabilityCID        = principal.MsgCapabilityCID
	MsgCapabilityBytes      = principal.MsgCapabilityBytes
	MsgCapabilityTooLarge   = principal.MsgCapabilityTooLarge
	MsgCapabilityCBOR       = principal.MsgCapabilityCBOR
	MsgCapabilityMismatch   = principal.MsgCapabilityMismatch
	MsgCapabilityType       = principal.MsgCapabilityType
	MsgCapabilitySigner     = principal.MsgCapabilitySigner
	MsgCapabilityDelegateID = principal.MsgCapabilityDelegateID
	MsgCapabilitySignature  = principal.MsgCapabilitySignature
	MsgCapabilityDelegate   = principal.MsgCapabilityDelegate
	MsgCapabilityRole       = principal.MsgCapabilityRole
	MsgCapabilitySelf       = principal.MsgCapabilitySelf
	MsgCapabilityIssuer     = principal.MsgCapabilityIssuer
	// MsgCapabilityUnavailable is for a server without a place to fetch from.
	MsgCapabilityUnavailable = "Capability blob is not available to this server"
)

// MsgCapabilityFetch says why a capability could not be fetched.
func MsgCapabilityFetch(cid, reason string) string {
	return "Failed to fetch capability " + cid + ": " + reason
}

// MsgCapabilityMissing says that the network does not have a capability.
func MsgCapabilityMissing(cid string) string {
	return "Capability " + cid + " is not available on the HM network"
}

// Texts that every action may answer. The first three groups of the list have the status 400, 404 and 403, the last 409.
const (
	MsgSubscribeOverHTTP = "Subscribe is only supported over WebSocket"

	MsgAgentNotFound    = "Agent not found"
	MsgSessionNotFound  = "Session not found"
	MsgTriggerNotFound  = "Agent trigger not found"
	MsgRunNotFound      = "Run not found"
	MsgApprovalNotFound = "Approval not found"
	MsgUploadNotFound   = "Upload not found"

	MsgCollaboratorNotFound = "Collaborator not found"
	MsgInviteNotFound       = "Agent invitation not found"

	MsgOwnerOnly     = "Only the agent owner can do this"
	MsgWriteAccess   = "Write access is required"
	MsgSigningGrant  = "Only the agent owner can change signing accounts"
	MsgApprovalGrant = "Only the agent owner, with a key of their own or a token that may administer, can change which calls need an approval"

	MsgRequestIDMismatch = "Client request ID payload mismatch"
	MsgMessageIDMismatch = "Client message ID payload mismatch"
)

// Texts of uploads in chunks (spec §3.4). The first five have the status 400, the next three 413, the last 429.
const (
	MsgUploadTarget      = "Upload target is required"
	MsgUploadUnsupported = "Unsupported upload target"
	MsgUploadSize        = "Upload size must be a positive integer"
	MsgChunkContent      = "Chunk content must be non-empty bytes"
	MsgUploadOverrun     = "Upload exceeds its declared size"

	MsgUploadFileSize       = "Upload exceeds the maximum file size"
	MsgUploadAttachmentSize = "Upload exceeds the maximum attachment size"
	MsgChunkTooLarge        = "Chunk is too large"

	MsgTooManyUploads = "Too many uploads in progress"
)

// MsgChunkOffset answers, with status 409, a chunk that is not the next one.
func MsgChunkOffset(offset, received int64) string {
	return fmt.Sprintf("Chunk offset %d does not match %d bytes received", offset, received)
}

// MsgUploadIncomplete answers, with status 400, a commit that comes too early.
func MsgUploadIncomplete(received, size int64) string {
	return fmt.Sprintf("Upload has %d of %d bytes; cannot commit", received, size)
}

// MsgUnsupportedAction answers, with status 400, a name that the server does not know.
func MsgUnsupportedAction(name string) string { return "Unsupported action: " + name }

// MsgRequired and MsgTooLarge answer, with status 400, a bounded text that is blank or too long.
func MsgRequired(label string) string { return label + " is required" }

// MsgTooLarge is the second of the two: see MsgRequired.
func MsgTooLarge(label string) string { return label + " is too large" }

// Texts of error frames on the WebSocket, beside those of authentication and the missing resources.
const (
	MsgExpectedSubscribe   = "Expected Subscribe action"
	MsgKeyInvalid          = "Subscription key is invalid"
	MsgKeyNotAuthorized    = "Subscription key is not authorized"
	MsgAfterSeq            = "afterSeq must be a non-negative integer"
	MsgInvalidSubscription = "Invalid subscription"
	MsgAccountSwitch       = "WebSocket account switch is not allowed"
	// MsgShuttingDown is the reason of the close code 1001.
	MsgShuttingDown = "Server shutting down"
)

// ErrInvalidCBOR is the error of bytes that do not decode. A server answers it with status 400 and MsgInvalidCBOR.
var ErrInvalidCBOR = errors.New(MsgInvalidCBOR) //lint:ignore ST1005 the protocol spells it this way

// AuthError says which check an envelope failed. A server answers it with status 401.
type AuthError struct {
	// Message is the text for the peer.
	Message string
}

// Error implements error.
func (e *AuthError) Error() string { return e.Message }

func refuse(message string) error { return &AuthError{Message: message} }

// ErrorResponse is the answer to an action that failed.
type ErrorResponse struct {
	// Type is "Error".
	Type string `json:"_"`
	// Message is shown to people as it is.
	Message string `json:"message"`
	// Code is empty, or CodeProtocolTooOld.
	Code string `json:"code,omitempty"`
}

// ErrorType is the `_` of every ErrorResponse. An error frame spells it in lower case.
const ErrorType = "Error"

// EncodeError is the body of a failed action. The code may be empty. Bytes that are not UTF-8 are replaced.
func EncodeError(message, code string) ([]byte, error) {
	const replacement = "\uFFFD"
	return dagcbor.Marshal(ErrorResponse{
		Type:    ErrorType,
		Message: strings.ToValidUTF8(message, replacement),
		Code:    strings.ToValidUTF8(code, replacement),
	})
}
