package agent

import (
	"fmt"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/wire"
)

// encode writes a definition as the JSON that is stored. Bytes inside metadata and blocks take their DAG-JSON form.
func encode(d wire.AgentDefinition) (string, error) {
	text, err := dagcbor.ToJSON(d)
	if err != nil {
		return "", fmt.Errorf("encode agent definition: %w", err)
	}
	return string(text), nil
}

// decode goes through CBOR, which keeps integers apart from floats in the parts that are free maps.
func decode(text string) (d wire.AgentDefinition, err error) {
	value, err := dagcbor.FromDAGJSON([]byte(text))
	if err != nil {
		return d, fmt.Errorf("decode agent definition: %w", err)
	}
	raw, err := dagcbor.Reencode(value)
	if err != nil {
		return d, fmt.Errorf("decode agent definition: %w", err)
	}
	if err := dagcbor.Unmarshal(raw, &d); err != nil {
		return d, fmt.Errorf("decode agent definition: %w", err)
	}
	return d, nil
}
