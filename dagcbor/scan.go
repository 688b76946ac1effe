package dagcbor

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// Limits of one message. They bound the memory that hostile bytes can claim: an item costs at most a few dozen bytes
// beyond its text or bytes.
const (
	// MaxDepth is how deep arrays, maps and links may nest, in values and in bytes.
	MaxDepth = 256
	// MaxItems is how many data items (each key and value counts) decoded bytes may hold.
	MaxItems = 1 << 20
)

// SyntaxError says that bytes are not DAG-CBOR that this package accepts.
type SyntaxError struct {
	// Offset is the position of the offending item, in bytes.
	Offset int
	// Reason names the rule.
	Reason string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("dagcbor: byte %d: %s", e.Offset, e.Reason)
}

// CBOR major types.
const (
	majorUint = iota
	majorNegative
	majorBytes
	majorText
	majorArray
	majorMap
	majorTag
	majorSimple
)

// scanner checks the rules that the CBOR library does not have, before it sees the bytes: minimal heads, text keys,
// the one tag, the few simple values, the limit on items. Duplicate keys are left to the library.
type scanner struct {
	data  []byte
	pos   int
	items int
	// rewrite says that the decoded tree holds something that is not yet in the generic form: a link, an integer beyond
	// int64, a float that is an integer.
	rewrite bool
}

type head struct {
	at    int
	major byte
	info  byte
	arg   uint64
}

// scan checks one whole message and reports whether its decoded tree must be rewritten.
func scan(data []byte) (rewrite bool, err error) {
	s := scanner{data: data}
	if err := s.value(0); err != nil {
		return false, err
	}
	if s.pos != len(data) {
		return false, s.fail(s.pos, "trailing bytes")
	}
	return s.rewrite, nil
}

func (s *scanner) fail(at int, format string, args ...any) error {
	return &SyntaxError{Offset: at, Reason: fmt.Sprintf(format, args...)}
}

func (s *scanner) head() (head, error) {
	h := head{at: s.pos}
	if s.pos >= len(s.data) {
		return h, s.fail(s.pos, "unexpected end")
	}
	if s.items++; s.items > MaxItems {
		return h, s.fail(s.pos, "more than %d items", MaxItems)
	}
	first := s.data[s.pos]
	s.pos++
	h.major, h.info = first>>5, first&0x1f
	switch {
	case h.info < 24:
		h.arg = uint64(h.info)
		return h, nil
	case h.info > 27:
		return h, s.fail(h.at, "an indefinite length or a reserved head")
	}
	size := 1 << (h.info - 24)
	if len(s.data)-s.pos < size {
		return h, s.fail(s.pos, "unexpected end")
	}
	var wide [8]byte
	copy(wide[8-size:], s.data[s.pos:s.pos+size])
	h.arg = binary.BigEndian.Uint64(wide[:])
	s.pos += size
	if h.major != majorSimple && !minimal(h.arg, h.info) {
		return h, s.fail(h.at, "an integer or length is not minimal")
	}
	return h, nil
}

func minimal(arg uint64, info byte) bool {
	switch info {
	case 24:
		return arg >= 24
	case 25:
		return arg > math.MaxUint8
	case 26:
		return arg > math.MaxUint16
	default:
		return arg > math.MaxUint32
	}
}

func (s *scanner) value(depth int) error {
	h, err := s.head()
	if err != nil {
		return err
	}
	if h.major >= majorArray && h.major <= majorTag && depth >= MaxDepth {
		return s.fail(h.at, "nested deeper than %d levels", MaxDepth)
	}
	switch h.major {
	case majorUint:
		s.rewrite = s.rewrite || h.arg > math.MaxInt64
		return nil
	case majorNegative:
		if h.arg > math.MaxInt64 {
			return s.fail(h.at, "a negative integer is below the range of int64")
		}
		return nil
	case majorBytes, majorText:
		return s.text(h)
	case majorArray:
		return s.array(h, depth)
	case majorMap:
		return s.mapping(h, depth)
	case majorTag:
		return s.link(h)
	default:
		return s.simple(h)
	}
}

func (s *scanner) text(h head) error {
	if h.arg > uint64(len(s.data)-s.pos) {
		return s.fail(h.at, "unexpected end")
	}
	body := s.data[s.pos : s.pos+int(h.arg)]
	s.pos += len(body)
	if h.major == majorText && !utf8.Valid(body) {
		return s.fail(h.at, "text is not UTF-8")
	}
	return nil
}

func (s *scanner) array(h head, depth int) error {
	for range h.arg {
		if err := s.value(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) mapping(h head, depth int) error {
	for range h.arg {
		key, err := s.head()
		if err != nil {
			return err
		}
		if key.major != majorText {
			return s.fail(key.at, "a map key is not text")
		}
		if err := s.text(key); err != nil {
			return err
		}
		if err := s.value(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) link(h head) error {
	if h.arg != linkTag {
		return s.fail(h.at, "tag %d is not allowed", h.arg)
	}
	content, err := s.head()
	if err != nil {
		return err
	}
	if content.major != majorBytes {
		return s.fail(content.at, "a link must be bytes")
	}
	s.rewrite = true
	return s.text(content)
}

// simple accepts false, true, null, undefined and the three widths of floats.
func (s *scanner) simple(h head) error {
	switch {
	case h.info >= 20 && h.info <= 23:
		return nil
	case h.info >= 25:
		// Whether a short float is an integer is cheaper to find out on the decoded tree than here.
		s.rewrite = true
		return nil
	}
	return s.fail(h.at, "a simple value is not allowed")
}
