package wire

// SigningIdentity is a hypermedia account whose key the server keeps, so that agents can sign with it. The key itself never leaves
// the server. Times are epoch milliseconds.
type SigningIdentity struct {
	ID string `json:"id"`
	// Name is that of the secret which holds the key, and what a definition's signingKeys name.
	Name      string `json:"name"`
	AccountID string `json:"accountId,omitempty"`
	Label     string `json:"label,omitempty"`
	// Icon is an ipfs:// address.
	Icon string `json:"icon,omitempty"`
	// ServerURL is where its profile was published.
	ServerURL string `json:"serverUrl,omitempty"`
	CreatedAt int64  `json:"createdAt"`
	UpdatedAt int64  `json:"updatedAt"`
}

// ListSigningIdentitiesRequest lists the caller's identities, or those of the owner of AgentID.
type ListSigningIdentitiesRequest struct {
	AgentID *string `json:"agentId,omitempty"`
}

// ListSigningIdentitiesResponse lists identities, the newest first.
type ListSigningIdentitiesResponse struct {
	Identities []SigningIdentity `json:"identities"`
}

// CreateSigningIdentityRequest makes a key and publishes its account. Without a label it is called after its account.
type CreateSigningIdentityRequest struct {
	Label           *string `json:"label,omitempty"`
	ClientRequestID *string `json:"clientRequestId,omitempty"`
}

// ImportSigningIdentityRequest stores a key that there is already; nothing is published.
type ImportSigningIdentityRequest struct {
	// Seed is the key's 32 bytes.
	Seed            []byte  `json:"seed"`
	Label           *string `json:"label,omitempty"`
	ClientRequestID *string `json:"clientRequestId,omitempty"`
}

// UpdateSigningIdentityRequest publishes another name, and with Icon another picture, of an identity.
type UpdateSigningIdentityRequest struct {
	Name  string        `json:"name"`
	Label string        `json:"label"`
	Icon  *IdentityIcon `json:"icon,omitempty"`
}

// IdentityIcon is a picture of at most 4 MiB.
type IdentityIcon struct {
	Data     []byte `json:"data"`
	MimeType string `json:"mimeType,omitempty"`
	FileName string `json:"fileName,omitempty"`
}

// SigningIdentityResponse is one identity.
type SigningIdentityResponse struct {
	Identity SigningIdentity `json:"identity"`
}
