package trigger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
)

// The headers of Standard Webhooks.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

// Tolerance is how far the time of a signed delivery may be from the server's.
const Tolerance = 5 * time.Minute

// Sign is the signature of a delivery (Standard Webhooks, version 1). The secret is whsec_ and base64, at is in seconds.
func Sign(secret, id string, at int64, body []byte) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, SigningPrefix))
	if err != nil {
		// Secrets are checked before they are kept.
		key = []byte(secret)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + strconv.FormatInt(at, 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// verified tells whether one of the signatures of a header is right.
func verified(header, secret, id string, at int64, body []byte) bool {
	want := []byte(Sign(secret, id, at, body))
	right := false
	for signature := range strings.FieldsSeq(header) {
		right = hmac.Equal([]byte(signature), want) || right
	}
	return right
}
