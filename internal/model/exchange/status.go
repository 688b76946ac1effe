package exchange

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/loam-agents/loam/internal/model"
)

// maxRetryAfter bounds what a provider may ask for; beyond it the figure is a mistake or a date that clocks disagree on.
const maxRetryAfter = time.Hour

// statusOverloaded is Anthropic's own status; gateways use it for other providers too.
const statusOverloaded = 529

// kindOf is what a status says without its body.
func kindOf(status int) model.ErrorKind {
	switch {
	case status == http.StatusTooManyRequests:
		return model.ErrRateLimited
	case status == http.StatusServiceUnavailable || status == statusOverloaded:
		return model.ErrOverloaded
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return model.ErrBadKey
	case status == http.StatusRequestEntityTooLarge:
		return model.ErrContextTooLong
	case status == http.StatusRequestTimeout:
		return model.ErrServer
	case status >= 500:
		return model.ErrServer
	}
	return model.ErrBadRequest
}

// retryAfter reads the header in both of its forms, and the milliseconds that some providers add. Zero when absent.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return bound(ms / 1000)
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return bound(seconds)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	// The answer's own date makes the difference independent of our clock.
	sent, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return bound(at.Sub(sent).Seconds())
}

// bound works on seconds as a float, which a huge figure does not overflow; NaN fails the comparison and becomes zero.
func bound(seconds float64) time.Duration {
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}
