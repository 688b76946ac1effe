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

// PageRequest asks for a page of a list.
type PageRequest struct {
	// Limit is at most 200; 50 when not given.
	Limit *int64 `json:"limit,omitempty"`
	// Cursor is the nextCursor of the page before.
	Cursor *string `json:"cursor,omitempty"`
}

// ListTokensResponse lists an account's tokens, newest first.
type ListTokensResponse struct {
	Tokens     []TokenInfo `json:"tokens"`
	NextCursor string      `json:"nextCursor,omitempty"`
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
	// RootRunID selects the tree of a run.
	RootRunID *string `json:"rootRunId,omitempty"`
	// SessionID selects the turns of a session.
	SessionID *string `json:"sessionId,omitempty"`
	AgentID   *string `json:"agentId,omitempty"`
	// Status is queued, claimed, running, succeeded, failed or canceled.
	Status *string `json:"status,omitempty"`
	// Limit is at most 200; 50 when not given.
	Limit *int64 `json:"limit,omitempty"`
	// Cursor is the nextCursor of the page before.
	Cursor *string `json:"cursor,omitempty"`
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

// SignInInfo is a browser that is signed in. Times are epoch milliseconds.
type SignInInfo struct {
	ID string `json:"id"`
	// Method is link or passkey.
	Method string `json:"method"`
	// UserAgent is what the browser calls itself.
	UserAgent  string `json:"userAgent"`
	CreatedAt  int64  `json:"createdAt"`
	ExpiresAt  int64  `json:"expiresAt"`
	LastUsedAt int64  `json:"lastUsedAt,omitempty"`
	// Current marks the browser that asks.
	Current bool `json:"current,omitempty"`
}

// ListSignInsResponse lists browsers, newest first.
type ListSignInsResponse struct {
	SignIns    []SignInInfo `json:"signIns"`
	NextCursor string       `json:"nextCursor,omitempty"`
}

// SignInRequest names a browser that is signed in.
type SignInRequest struct {
	SignInID string `json:"signInId"`
}

// CreateSignInLinkResponse holds a code that signs one browser in, once, until ExpiresAt, and the address that holds it.
type CreateSignInLinkResponse struct {
	Code      string `json:"code"`
	URL       string `json:"url"`
	ExpiresAt int64  `json:"expiresAt"`
}

// KeyInfo is a key that acts as the account.
type KeyInfo struct {
	Key       string `json:"key"`
	Name      string `json:"name"`
	CreatedAt int64  `json:"createdAt"`
}

// LinkKeyRequest makes a key act as the account.
type LinkKeyRequest struct {
	Key  string `json:"key"`
	Name string `json:"name"`
}

// KeyResponse is one key.
type KeyResponse struct {
	Key KeyInfo `json:"key"`
}

// ListKeysResponse lists keys, newest first.
type ListKeysResponse struct {
	Keys       []KeyInfo `json:"keys"`
	NextCursor string    `json:"nextCursor,omitempty"`
}

// KeyRequest names a key by its principal.
type KeyRequest struct {
	KeyID string `json:"keyId"`
}

// PasskeyInfo is a passkey. Times are epoch milliseconds.
type PasskeyInfo struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	CreatedAt  int64  `json:"createdAt"`
	LastUsedAt int64  `json:"lastUsedAt,omitempty"`
}

// PasskeyResponse is one passkey.
type PasskeyResponse struct {
	Passkey PasskeyInfo `json:"passkey"`
}

// ListPasskeysResponse lists passkeys, newest first.
type ListPasskeysResponse struct {
	Passkeys   []PasskeyInfo `json:"passkeys"`
	NextCursor string        `json:"nextCursor,omitempty"`
}

// PasskeyRequest names a passkey.
type PasskeyRequest struct {
	PasskeyID string `json:"passkeyId"`
}

// PasskeyChallenge is what an authenticator is asked: PublicKey is what browsers read with parseCreationOptionsFromJSON or
// parseRequestOptionsFromJSON. It is answered once, within five minutes, together with ChallengeID.
type PasskeyChallenge struct {
	ChallengeID string         `json:"challengeId"`
	PublicKey   map[string]any `json:"publicKey"`
}

// FinishPasskeyRequest answers a challenge with the authenticator's credential as JSON.
type FinishPasskeyRequest struct {
	ChallengeID string         `json:"challengeId"`
	Credential  map[string]any `json:"credential"`
	// Name is what a new passkey is called.
	Name string `json:"name"`
}

// ProviderTypeInfo is a kind of model provider.
type ProviderTypeInfo struct {
	// Name is the type of a provider's configuration, and Label what people call it.
	Name  string `json:"name"`
	Label string `json:"label"`
	// NeedsKey says that requests without a key are not worth sending, TakesKey that a key is of use at all.
	NeedsKey bool `json:"needsKey"`
	TakesKey bool `json:"takesKey"`
	// CustomURL says that the account may say where it is, and BaseURL where it is otherwise: when absent, the account has to.
	CustomURL bool   `json:"customUrl"`
	BaseURL   string `json:"baseUrl,omitempty"`
}

// ListProviderTypesResponse lists the kinds of providers, in the order to show them.
type ListProviderTypesResponse struct {
	Types []ProviderTypeInfo `json:"types"`
}
