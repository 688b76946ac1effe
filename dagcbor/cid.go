package dagcbor

import (
	"crypto/sha256"
	"fmt"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
)

// CID is a content identifier. It is comparable; the zero value is undefined and has no encoding. Its text is what
// String returns: base32 in lower case for version 1.
type CID = cid.Cid

// linkTag is the CBOR tag of a CID; linkPrefix is the identity multibase byte that DAG-CBOR puts before its bytes.
const (
	linkTag    = 42
	linkPrefix = 0x00
)

// maxCIDText bounds the text that ParseCID looks at, since base58 takes quadratic time to read.
const maxCIDText = 512

// Sum is the CID of canonical bytes: version 1, codec dag-cbor (0x71), SHA2-256. It does not check the bytes.
func Sum(data []byte) CID {
	digest := sha256.Sum256(data)
	hash := make([]byte, 0, 2+len(digest))
	hash = append(hash, multihash.SHA2_256, byte(len(digest)))
	return cid.NewCidV1(cid.DagCBOR, append(hash, digest[:]...))
}

// ParseCID reads the text form of a CID of any version, codec and multibase, at most 512 bytes long.
func ParseCID(text string) (CID, error) {
	if len(text) > maxCIDText {
		return CID{}, fmt.Errorf("dagcbor: a CID of %d bytes is too long", len(text))
	}
	c, err := cid.Decode(text)
	if err != nil {
		return CID{}, fmt.Errorf("dagcbor: parse CID: %w", err)
	}
	return c, nil
}

// parseLink reads the content of tag 42.
func parseLink(b []byte) (CID, error) {
	if len(b) < 2 || b[0] != linkPrefix {
		return CID{}, fmt.Errorf("a link must be bytes that start with 0x00")
	}
	c, err := cid.Cast(b[1:])
	if err != nil {
		return CID{}, fmt.Errorf("a link holds no CID: %w", err)
	}
	return c, nil
}

func linkBytes(c CID) []byte {
	return append([]byte{linkPrefix}, c.Bytes()...)
}
