// Package id makes identifiers: UUIDv7 in lower case, through a seam that tests replace.
//
// Any tier may import it. Times inside the identifiers come from the given clock, so rows sort by creation.
package id

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/loam-agents/loam/internal/clock"
)

// Source returns a fresh identifier at every call. It is safe for concurrent use.
type Source func() string

// NewSource returns UUIDv7 identifiers (RFC 9562 §5.7): 48 bits of milliseconds, a 12-bit counter that orders
// identifiers of one millisecond, and 62 bits from random. A nil random is crypto/rand. It panics when random fails,
// as an identifier without randomness must not be used.
func NewSource(c clock.Clock, random io.Reader) Source {
	if random == nil {
		random = rand.Reader
	}
	var mu sync.Mutex
	var lastMillis uint64
	var counter uint16
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		now := uint64(clock.Millis(c))
		switch {
		case now > lastMillis:
			lastMillis, counter = now, 0
		case counter == 0xfff:
			lastMillis, counter = lastMillis+1, 0
		default:
			counter++
		}
		var b [16]byte
		if _, err := io.ReadFull(random, b[8:]); err != nil {
			panic(fmt.Sprintf("id: read randomness: %v", err))
		}
		binary.BigEndian.PutUint64(b[:8], lastMillis<<16|0x7000|uint64(counter))
		b[8] = b[8]&0x3f | 0x80
		return format(b)
	}
}

// Sequence returns identifiers that count up from 1 in the shape of a UUID, for tests.
func Sequence() Source {
	var n atomic.Uint64
	return func() string {
		var b [16]byte
		binary.BigEndian.PutUint64(b[8:], n.Add(1))
		b[6], b[8] = 0x70, b[8]|0x80
		return format(b)
	}
}

func format(b [16]byte) string {
	var out [36]byte
	hex.Encode(out[0:8], b[0:4])
	out[8] = '-'
	hex.Encode(out[9:13], b[4:6])
	out[13] = '-'
	hex.Encode(out[14:18], b[6:8])
	out[18] = '-'
	hex.Encode(out[19:23], b[8:10])
	out[23] = '-'
	hex.Encode(out[24:36], b[10:16])
	return string(out[:])
}
