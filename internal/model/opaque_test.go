package model_test

import (
	"encoding/json"
	"testing"

	"github.com/loam-agents/loam/internal/model"
)

func TestOpaqueBlocksSurviveStorageByteForByte(t *testing.T) {
	t.Parallel()
	for _, block := range []string{`{"b": "<&>  ", "a" : 1.0}`, "[ ]", `"\u003c"`, "{\"x\":\"\xff\"}", ``} {
		in := model.Message{Role: model.Assistant, Parts: []model.Part{{
			Kind: model.PartOpaque, Opaque: &model.Opaque{Dialect: model.Anthropic, Model: "m", Block: json.RawMessage(block)},
		}}}
		stored, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out model.Message
		if err := json.Unmarshal(stored, &out); err != nil {
			t.Fatal(err)
		}
		if got := out.Parts[0].Opaque; string(got.Block) != block || got.Model != "m" || got.Dialect != model.Anthropic {
			t.Errorf("block %q came back as %q", block, got.Block)
		}
	}
}
