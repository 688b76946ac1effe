package hypermedia

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ipfs/go-cid"

	"github.com/loam-agents/loam/dagcbor"
)

// maxObjectDepth bounds how deep an object nests.
const maxObjectDepth = 64

// IsObject tells whether a CID names a DAG-CBOR object rather than a file.
func IsObject(c dagcbor.CID) bool { return c.Prefix().Codec == cid.DagCBOR }

// Names tells whether a CID is that of some bytes.
func Names(c dagcbor.CID, data []byte) bool {
	sum, err := c.Prefix().Sum(data)
	return err == nil && sum.Equals(c)
}

// CheckFile tells whether data can be the file that a CID names. A file of many chunks may have been cut in many ways, so only one of a
// single chunk can be checked.
func CheckFile(c dagcbor.CID, data []byte) bool {
	return c.Prefix().Codec != cid.Raw || Names(c, data)
}

// Object is the blob of an object that is written as DAG-JSON: its CID is a link's {"/": "<cid>"}, and bytes are
// {"/": {"bytes": "<base64>"}}. It is not signed.
func Object(text string) (Blob, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return Blob{}, errors.New("it is not valid JSON")
	}
	if decoder.More() {
		return Blob{}, errors.New("something follows it")
	}
	value, err := fromJSON(value, 0)
	if err != nil {
		return Blob{}, err
	}
	if _, ok := value.(map[string]any); !ok {
		return Blob{}, errors.New("it must be a map")
	}
	data, err := dagcbor.Marshal(value)
	if err != nil {
		return Blob{}, fmt.Errorf("it cannot be encoded: %w", err)
	}
	return Blob{CID: dagcbor.Sum(data), Data: data}, nil
}

func fromJSON(value any, depth int) (any, error) {
	if depth > maxObjectDepth {
		return nil, fmt.Errorf("it is nested deeper than %d", maxObjectDepth)
	}
	var err error
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		return v.Float64()
	case []any:
		for i := range v {
			if v[i], err = fromJSON(v[i], depth+1); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		if special, ok := v["/"]; ok && len(v) == 1 {
			return fromSpecial(special)
		}
		for key := range v {
			if v[key], err = fromJSON(v[key], depth+1); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

func fromSpecial(value any) (any, error) {
	switch v := value.(type) {
	case string:
		c, err := dagcbor.ParseCID(v)
		if err != nil {
			return nil, fmt.Errorf("%.100q is no CID", v)
		}
		return c, nil
	case map[string]any:
		text, ok := v["bytes"].(string)
		data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
		if ok && err == nil && len(v) == 1 {
			return data, nil
		}
	}
	return nil, errors.New(`"/" stands for a link or for bytes in base64`)
}

// ToJSON is a decoded object as DAG-JSON.
func ToJSON(value any) any {
	switch v := value.(type) {
	case dagcbor.CID:
		return map[string]any{"/": v.String()}
	case []byte:
		return map[string]any{"/": map[string]any{"bytes": base64.RawStdEncoding.EncodeToString(v)}}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = ToJSON(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key := range v {
			out[key] = ToJSON(v[key])
		}
		return out
	}
	return value
}
