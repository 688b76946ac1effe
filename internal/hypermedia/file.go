package hypermedia

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/loam-agents/loam/dagcbor"
)

// The network's form of files: raw leaves of chunkSize under one node of at most maxLinks links (spec/hypermedia.md §1.6).
const (
	chunkSize = 262144
	maxLinks  = 174
)

// MaxFile bounds a file, in bytes, to what one node can hold.
const MaxFile = chunkSize * maxLinks

// File cuts a file into blobs. The first of them is the root, whose CID names the file; a file of one chunk is that chunk.
func File(data []byte) ([]Blob, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("a file of %d bytes is larger than %d", len(data), MaxFile)
	}
	var leaves []Blob
	for rest := data; len(rest) > 0 || len(leaves) == 0; {
		n := min(len(rest), chunkSize)
		leaf, err := named(cid.Raw, rest[:n])
		if err != nil {
			return nil, err
		}
		leaves, rest = append(leaves, leaf), rest[n:]
	}
	if len(leaves) == 1 {
		return leaves, nil
	}
	root, err := named(cid.DagProtobuf, node(leaves, len(data)))
	return append([]Blob{root}, leaves...), err
}

func named(codec uint64, data []byte) (Blob, error) {
	digest := sha256.Sum256(data)
	hash, err := multihash.Encode(digest[:], multihash.SHA2_256)
	if err != nil {
		return Blob{}, fmt.Errorf("name a block: %w", err)
	}
	return Blob{CID: dagcbor.CID(cid.NewCidV1(codec, hash)), Data: data}, nil
}

// node is a dag-pb node over leaves: its links first, each with hash, an empty name and its size, then UnixFS data of the type
// file with the size of the whole and of each leaf.
func node(leaves []Blob, size int) []byte {
	const file = 2
	var out, data []byte
	data = number(data, 1, file)
	data = number(data, 3, size)
	for _, leaf := range leaves {
		var link []byte
		link = field(link, 1, leaf.CID.Bytes())
		link = field(link, 2, nil)
		link = number(link, 3, len(leaf.Data))
		out = field(out, 2, link)
		data = number(data, 4, len(leaf.Data))
	}
	return field(out, 1, data)
}

// field and number append the two kinds of protobuf fields that there are.
func field(b []byte, id byte, value []byte) []byte {
	b = append(b, id<<3|2)
	return append(binary.AppendUvarint(b, uint64(len(value))), value...)
}

func number(b []byte, id byte, value int) []byte {
	return binary.AppendUvarint(append(b, id<<3), uint64(value))
}
