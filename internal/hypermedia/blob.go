package hypermedia

import (
	"fmt"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/principal"
)

// Blob is some bytes and their name.
type Blob struct {
	CID  dagcbor.CID
	Data []byte
}

func sign(k *principal.Key, kind string, ts int64, fields map[string]any) (Blob, error) {
	fields["type"], fields["ts"] = kind, ts
	data, err := principal.SignBlob(k, fields)
	if err != nil {
		return Blob{}, fmt.Errorf("sign a %s: %w", kind, err)
	}
	return Blob{CID: dagcbor.Sum(data), Data: data}, nil
}

// Profile says how an account is called. avatar is the ipfs:// address of a picture, or empty; ts is epoch milliseconds, as
// everywhere here. The newest profile counts.
func Profile(k *principal.Key, name, avatar string, ts int64) (Blob, error) {
	fields := map[string]any{"name": name}
	// A field that is there and empty is not what other programs sign over.
	if avatar != "" {
		fields["avatar"] = avatar
	}
	return sign(k, "Profile", ts, fields)
}

// Genesis is the change that a key's home document begins with, always the same one, so that homes that were made twice become one.
func Genesis(k *principal.Key) (Blob, error) { return sign(k, "Change", 0, map[string]any{}) }

// Change changes a document, on top of its genesis alone. ops are maps as spec/hypermedia.md §1.2 says.
func Change(k *principal.Key, genesis dagcbor.CID, ops []any, ts int64) (Blob, error) {
	return sign(k, "Change", ts, map[string]any{
		"genesis": genesis, "deps": []any{genesis}, "depth": 1, "body": map[string]any{"opCount": len(ops), "ops": ops},
	})
}

// HomeRef makes a change the state of a key's home document.
func HomeRef(k *principal.Key, genesis, head dagcbor.CID, ts int64) (Blob, error) {
	return sign(k, "Ref", ts, map[string]any{"genesisBlob": genesis, "heads": []any{head}, "generation": 1})
}

// Home is a home document of one paragraph: its genesis, its change and its reference. block is the id of the paragraph, 8
// characters of A-Z, a-z, 0-9, _ and -.
func Home(k *principal.Key, name, block, text string, ts int64) ([]Blob, error) {
	genesis, err := Genesis(k)
	if err != nil {
		return nil, err
	}
	change, err := Change(k, genesis.CID, []any{
		map[string]any{"type": "SetAttributes", "attrs": []any{map[string]any{"key": []any{"name"}, "value": name}}},
		map[string]any{"type": "ReplaceBlock", "block": map[string]any{"id": block, "type": "Paragraph", "text": text, "annotations": []any{}}},
		map[string]any{"type": "MoveBlocks", "blocks": []any{block}, "parent": ""},
	}, ts)
	if err != nil {
		return nil, err
	}
	ref, err := HomeRef(k, genesis.CID, change.CID, ts)
	return []Blob{genesis, change, ref}, err
}
