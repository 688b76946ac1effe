package wire

// SignerInfo is a key that acts for an account by a capability. Times are epoch milliseconds; RevokedAt is absent while the key
// may act.
type SignerInfo struct {
	SignerID string `json:"signerId"`
	// Role is AGENT.
	Role  string `json:"role"`
	Label string `json:"label,omitempty"`
	// Capability is the CID of the capability that proved it.
	Capability string `json:"capability"`
	CreatedAt  int64  `json:"createdAt"`
	RevokedAt  int64  `json:"revokedAt,omitempty"`
}

// RegisterSignerRequest shows a capability whose delegate signs the envelope for itself.
type RegisterSignerRequest struct {
	Capability []byte `json:"capability"`
}

// RegisterSignerResponse names the account that the signer may act for from now on.
type RegisterSignerResponse struct {
	AccountID string `json:"accountId"`
	SignerID  string `json:"signerId"`
}

// ListSignersResponse lists signers, newest first, also the revoked ones.
type ListSignersResponse struct {
	Signers    []SignerInfo `json:"signers"`
	NextCursor string       `json:"nextCursor,omitempty"`
}

// SignerRequest names a signer by its principal.
type SignerRequest struct {
	SignerID string `json:"signerId"`
}
