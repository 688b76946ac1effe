package rest

import (
	"net/http"
	"time"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/wire"
)

// CookieName is the cookie with which a browser proves that it is signed in.
const CookieName = "loam_session"

// SignInFields is a one-time code.
type SignInFields struct {
	Code string `json:"code"`
}

// PasskeyFields are the answer of an authenticator.
type PasskeyFields struct {
	ChallengeID string         `json:"challengeId"`
	Credential  map[string]any `json:"credential"`
}

// signInEndpoints are for people who are nobody yet, or will not be somebody any more. They are no operations: those are done by
// an account.
func (s *Server) signInEndpoints() []endpoint {
	return []endpoint{
		{id: "SignIn", open: true, handle: s.signIn, Route: operation.Route{
			Method: http.MethodPost, Path: "/sign-in", Summary: "Sign a browser in with a one-time code", Status: http.StatusNoContent,
			Note:    "Sets the cookie " + CookieName + ".",
			Request: SignInFields{},
		}},
		{id: "BeginPasskeySignIn", open: true, handle: s.beginPasskey, Route: operation.Route{
			Method: http.MethodPost, Path: "/sign-in/passkey/begin", Summary: "Ask for a passkey of anybody", Reply: wire.PasskeyChallenge{},
			Note: "Answer with /sign-in/passkey/finish within five minutes.",
		}},
		{id: "FinishPasskeySignIn", open: true, handle: s.finishPasskey, Route: operation.Route{
			Method: http.MethodPost, Path: "/sign-in/passkey/finish", Summary: "Sign a browser in with a passkey", Status: http.StatusNoContent,
			Note:    "Sets the cookie " + CookieName + ".",
			Request: PasskeyFields{},
		}},
		{id: "SignOut", open: true, handle: s.signOut, Route: operation.Route{
			Method: http.MethodPost, Path: "/sign-out", Summary: "Sign this browser out", Status: http.StatusNoContent,
		}},
	}
}

// maxOpenBody bounds, in bytes, what people who are nobody yet may send.
const maxOpenBody = 64 << 10

// openFields reads the body of somebody who is nobody yet.
func (s *Server) openFields(w http.ResponseWriter, r *http.Request, kind any) (map[string]any, error) {
	limits := s.opts.Limits
	limits.MaxBody = min(limits.MaxBody, maxOpenBody)
	return fields(w, r, &operation.Route{Method: http.MethodPost, Request: kind}, limits)
}

func (s *Server) signIn(w http.ResponseWriter, r *http.Request, _ caller) error {
	request, err := s.openFields(w, r, SignInFields{})
	if err != nil {
		return err
	}
	code, _ := request["code"].(string)
	if code == "" {
		return fault.Invalid("code is required").With("field", "code")
	}
	cookie, expiresAt, err := s.opts.Operations.SignIn(r.Context(), code, r.UserAgent())
	return s.signedIn(w, cookie, expiresAt, err)
}

func (s *Server) signedIn(w http.ResponseWriter, cookie string, expiresAt int64, err error) error {
	if err == nil {
		s.setCookie(w, cookie, expiresAt)
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func (s *Server) beginPasskey(w http.ResponseWriter, r *http.Request, _ caller) error {
	challenge, err := s.opts.Operations.PasskeyChallenge(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, challenge)
}

func (s *Server) finishPasskey(w http.ResponseWriter, r *http.Request, _ caller) error {
	request, err := s.openFields(w, r, PasskeyFields{})
	if err != nil {
		return err
	}
	var req wire.FinishPasskeyRequest
	req.ChallengeID, _ = request["challengeId"].(string)
	req.Credential, _ = request["credential"].(map[string]any)
	cookie, expiresAt, err := s.opts.Operations.SignInWithPasskey(r.Context(), req, r.UserAgent())
	return s.signedIn(w, cookie, expiresAt, err)
}

// setCookie has a browser prove itself until a time, in epoch milliseconds.
func (s *Server) setCookie(w http.ResponseWriter, value string, expiresAt int64) {
	cookie := &http.Cookie{
		Name: CookieName, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.opts.Origin.Secure(),
		Expires: time.UnixMilli(expiresAt),
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// signOut answers the same whether anybody was signed in: afterwards nobody is.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request, _ caller) error {
	if cookie, err := r.Cookie(CookieName); err == nil {
		if err := s.opts.Operations.SignOut(r.Context(), cookie.Value); err != nil {
			return err
		}
	}
	s.setCookie(w, "", 0)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
