package wire

import (
	"bytes"
	"encoding/json"
)

// DecodeTextFrame reads the text form of a client's WebSocket frame, a JSON array of byte numbers, and returns the bytes
// of the envelope. Anything else gives ErrInvalidCBOR.
func DecodeTextFrame(frame []byte) ([]byte, error) {
	// encoding/json would also read a string into bytes, as base64.
	if !bytes.HasPrefix(bytes.TrimLeft(frame, " \t\r\n"), []byte("[")) {
		return nil, ErrInvalidCBOR
	}
	var body []byte
	if err := json.Unmarshal(frame, &body); err != nil {
		return nil, ErrInvalidCBOR
	}
	return body, nil
}
