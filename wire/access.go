package wire

// Who may act for an account. The requests and entities here are Loam's own: they are served by REST, and as signed actions to
// clients that know them.

// TokenInfo is a bearer token without its text. Times are epoch milliseconds; zero is never.
type TokenInfo struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Scopes are read, write and admin.
	Scopes     []string `json:"scopes"`
	CreatedAt  int64    `json:"createdAt"`
	ExpiresAt  int64    `json:"expiresAt,omitempty"`
	LastUsedAt int64    `json:"lastUsedAt,omitempty"`
}

// CreateTokenRequest makes a token. ExpiresAt is epoch milliseconds; without it the token does not expire.
type CreateTokenRequest struct {
	Name      string   `json:"name"`
	Scopes    []string `json:"scopes"`
	ExpiresAt *int64   `json:"expiresAt,omitempty"`
}

// CreateTokenResponse holds the text of the token, which is shown this once.
type CreateTokenResponse struct {
	Token string    `json:"token"`
	Info  TokenInfo `json:"info"`
}

// ListTokensResponse lists an account's tokens, newest first.
type ListTokensResponse struct {
	Tokens []TokenInfo `json:"tokens"`
}

// TokenRequest names a token.
type TokenRequest struct {
	TokenID string `json:"tokenId"`
}

// SecretsResponse lists secrets by name, never with their values.
type SecretsResponse struct {
	Secrets []SecretInfo `json:"secrets"`
}

// FindRunsRequest lists runs of the account that fit every filter: those of a tree oldest first, others newest first. Cursor is
// the nextCursor of the page before.
type FindRunsRequest struct {
	RootRunID *string `json:"rootRunId,omitempty"`
	SessionID *string `json:"sessionId,omitempty"`
	AgentID   *string `json:"agentId,omitempty"`
	Status    *string `json:"status,omitempty"`
	Limit     *int64  `json:"limit,omitempty"`
	Cursor    *string `json:"cursor,omitempty"`
}

// FindRunsResponse is a page of runs.
type FindRunsResponse struct {
	Runs       []RunInfo `json:"runs"`
	NextCursor string    `json:"nextCursor,omitempty"`
}

// CallerInfo says who asks and what they may do.
type CallerInfo struct {
	Account string `json:"account"`
	// Signer is the key that acts for the account, when it is another one.
	Signer string `json:"signer,omitempty"`
	// Owner tells whether the account owns the server.
	Owner  bool     `json:"owner"`
	Scopes []string `json:"scopes"`
	// Via is how they proved it: cookie, token or signature.
	Via    string     `json:"via"`
	Server ServerInfo `json:"server"`
}

// ServerInfo is what a client needs to know of a server.
type ServerInfo struct {
	Version string `json:"version"`
	// Accounts is open, when any key may act, or invite.
	Accounts string `json:"accounts"`
	// PublicURL is where other machines reach the server; empty when only this one does.
	PublicURL string `json:"publicUrl"`
	Protocol  int    `json:"protocol"`
}
