package openai

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/loam-agents/loam/internal/model"
)

// failure is an error as servers write it: an object, or only a string.
type failure struct {
	Message string
	Type    string
	// Code is a word or an HTTP status.
	Code string
}

// UnmarshalJSON implements json.Unmarshaler for both forms.
func (f *failure) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte{'"'}) {
		return json.Unmarshal(data, &f.Message)
	}
	var v struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	f.Message, f.Type, f.Code = v.Message, v.Type, strings.Trim(string(v.Code), `"`)
	if f.Code == "null" {
		f.Code = ""
	}
	return nil
}

// errorBody is the body of a failed request, in the forms of OpenAI and its imitators.
type errorBody struct {
	Error   *failure        `json:"error"`
	Message string          `json:"message"`
	Detail  json.RawMessage `json:"detail"`
}

// classify implements exchange.Classify.
func classify(_ int, header http.Header, body []byte, fallback model.Error) model.Error {
	var b errorBody
	if json.Unmarshal(body, &b) != nil {
		return fallback
	}
	f := failure{Message: b.Message}
	if b.Error != nil {
		f = *b.Error
	}
	if f.Message == "" && len(b.Detail) > 0 {
		f.Message = strings.Trim(string(b.Detail), `"`)
	}
	out := f.apply(fallback)
	if out.RetryAfter == 0 && out.Kind == model.ErrRateLimited {
		out.RetryAfter = resetAfter(header)
	}
	return out
}

// apply refines an error by the words of the service.
func (f failure) apply(e model.Error) model.Error {
	e.Message = f.Message
	if status, err := strconv.Atoi(f.Code); err == nil && e.Status == 0 {
		e.Kind = kindOfCode(status)
	}
	switch words := strings.ToLower(f.Code + " " + f.Type); {
	case tooLong(words, f.Message) && (e.Status == 0 || e.Status/100 == 4):
		e.Kind = model.ErrContextTooLong
	case strings.Contains(words, "insufficient_quota"):
		// Sent as 429, but no waiting helps: the account of the key is empty.
		e.Kind = model.ErrBadKey
	case strings.Contains(words, "rate_limit"):
		e.Kind = model.ErrRateLimited
	case strings.Contains(words, "overloaded") || strings.Contains(words, "slow_down"):
		e.Kind = model.ErrOverloaded
	case strings.Contains(words, "invalid_api_key"):
		e.Kind = model.ErrBadKey
	}
	if e.RetryAfter == 0 {
		e.RetryAfter = spokenDelay(f.Message)
	}
	return e
}

// kindOfCode classifies a status that stands inside a stream.
func kindOfCode(status int) model.ErrorKind {
	switch {
	case status == http.StatusTooManyRequests:
		return model.ErrRateLimited
	case status == http.StatusServiceUnavailable || status == 529:
		return model.ErrOverloaded
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return model.ErrBadKey
	case status >= 400 && status < 500:
		return model.ErrBadRequest
	}
	return model.ErrServer
}

// tooLong knows the code of OpenAI and the sentences of the servers that have no code for it.
func tooLong(words, message string) bool {
	message = strings.ToLower(message)
	for _, sign := range []string{
		"maximum context length", "context length exceeded", "context window", "maximum prompt length", "prompt is too long",
		"reduce the length of the messages", "exceeds the available context size",
	} {
		if strings.Contains(message, sign) {
			return true
		}
	}
	return strings.Contains(words, "context_length_exceeded")
}

var spoken = regexp.MustCompile(`(?i)try again in ((?:\d+(?:\.\d+)?(?:ms|h|m|s))+)`)

// spokenDelay reads "try again in 1.5s", which OpenAI writes into the sentence.
func spokenDelay(message string) time.Duration {
	m := spoken.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	return boundedDuration(m[1])
}

// resetAfter reads OpenAI's rate limit headers: when whatever is used up becomes available again.
func resetAfter(h http.Header) time.Duration {
	var out time.Duration
	for _, what := range []string{"Requests", "Tokens"} {
		if h.Get("X-Ratelimit-Remaining-"+what) == "0" {
			out = max(out, boundedDuration(h.Get("X-Ratelimit-Reset-"+what)))
		}
	}
	return out
}

func boundedDuration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return min(max(d, 0), time.Hour)
}
