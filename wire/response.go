package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/loam-agents/loam/dagcbor"
)

// EncodeResponse is the body of a successful action: the response's fields with `_` set to its name. The value is a struct or
// a map whose keys are longer than one byte.
func EncodeResponse(name string, value any) ([]byte, error) {
	body, err := dagcbor.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	fields, header, err := mapHeader(body)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	// `_` is the shortest key, so it stands first in canonical order.
	out := appendHead(make([]byte, 0, len(body)+len(name)+16), majorMap, fields+1)
	out = append(appendHead(out, majorText, 1), '_')
	out = append(appendHead(out, majorText, uint64(len(name))), name...)
	return append(out, body[header:]...), nil
}

const (
	majorText byte = 3 << 5
	majorMap  byte = 5 << 5
)

// mapHeader reads the head of a canonical map: how many fields it has, and how long the head is.
func mapHeader(b []byte) (fields uint64, size int, err error) {
	if len(b) == 0 || b[0]&0xe0 != majorMap {
		return 0, 0, fmt.Errorf("a response must be a map")
	}
	switch low := b[0] & 0x1f; {
	case low < 24:
		return uint64(low), 1, nil
	case low == 24 && len(b) > 1:
		return uint64(b[1]), 2, nil
	case low == 25 && len(b) > 2:
		return uint64(binary.BigEndian.Uint16(b[1:])), 3, nil
	}
	return 0, 0, fmt.Errorf("a response of more than 65,535 fields")
}

func appendHead(out []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(out, major|byte(n))
	case n < 1<<8:
		return append(out, major|24, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(out, major|25), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(out, major|26), uint32(n))
}
