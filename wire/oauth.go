package wire

// StartProviderOAuthRequest begins to sign in with a subscription; ProviderType is openai.
type StartProviderOAuthRequest struct {
	ProviderType string `json:"providerType"`
}

// StartProviderOAuthResponse says where a person signs in until ExpiresAt, in epoch milliseconds.
type StartProviderOAuthResponse struct {
	LoginID   string `json:"loginId"`
	AuthURL   string `json:"authUrl"`
	ExpiresAt int64  `json:"expiresAt"`
}

// SubmitProviderOAuthCodeRequest brings the code of a sign-in: bare, or the whole address that the service redirected to.
type SubmitProviderOAuthCodeRequest struct {
	LoginID string `json:"loginId"`
	Code    string `json:"code"`
}

// SubmitProviderOAuthCodeResponse says that the code was good.
type SubmitProviderOAuthCodeResponse struct{}

// ProviderOAuthRequest names a sign-in.
type ProviderOAuthRequest struct {
	LoginID string `json:"loginId"`
}

// ProviderOAuthStatusResponse is how a sign-in stands: pending, completed or failed. SecretName is what a provider's
// secretRefs.oauth names once it is completed.
type ProviderOAuthStatusResponse struct {
	LoginID    string `json:"loginId"`
	Status     string `json:"status"`
	SecretName string `json:"secretName,omitempty"`
	Error      string `json:"error,omitempty"`
}
