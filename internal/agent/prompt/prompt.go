// Package prompt turns an agent's prompt from Markdown into hypermedia blocks and back.
//
// Clients edit blocks and models read Markdown. Parse makes blocks of what it understands with certainty (headings, lists,
// quotes, code, mathematics) and keeps everything else as the text of a paragraph; it proves each piece by rendering it
// again, so that for any text Markdown(Parse(text)) has the same non-blank lines in the same order, and the blank ones too
// inside code. Markdown also renders blocks that editors made: annotations, images, files, embeds, tables, unknown types.
// This is not the dialect of hypermedia documents, which lives elsewhere.
//
// prompt belongs to agent (tier 2) and imports dagcbor, wire, bounded and fault.
package prompt

import (
	"crypto/rand"
	"encoding/base64"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/wire"
)

// Limits of a block array.
const (
	// MaxDepth bounds how deep blocks nest.
	MaxDepth = 32
	// MaxBlocks bounds their number.
	MaxBlocks = 32768
	// MaxBytes bounds the Markdown form of a prompt, and with it the texts of all its blocks together.
	MaxBytes = 64 << 10
	// MaxEncoded bounds the block form of a prompt in CBOR.
	MaxEncoded = 8 << 20
)

// Read checks a prompt as a client sends it, Markdown or a block array, and returns it as blocks. label names it in errors, which are
// fault.Invalid.
func Read(v any, label string) (wire.PromptBlocks, error) {
	list, isList := v.([]any)
	if !isList {
		markdown, err := bounded.Text(v, label, MaxBytes)
		if err != nil {
			return nil, err
		}
		return Parse(markdown, nil), nil
	}
	blocks, err := Blocks(list)
	if err != nil {
		return nil, err
	}
	raw, err := dagcbor.Marshal(blocks)
	if err != nil {
		return nil, fault.Wrap(err, fault.ValidationFailed, "%s is invalid", label)
	}
	if len(raw) > MaxEncoded || len(Markdown(blocks)) > MaxBytes {
		return nil, fault.Invalid("%s", wire.MsgTooLarge(label))
	}
	return blocks, nil
}

// IDSource returns a fresh block id at every call.
type IDSource func() string

// RandomID returns eight random characters of [A-Za-z0-9_-], as hypermedia names its blocks.
func RandomID() string {
	var b [6]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// The block types that Parse makes.
const (
	typeParagraph = "Paragraph"
	typeHeading   = "Heading"
	typeCode      = "Code"
	typeMath      = "Math"
)

// The values of childrenType that change how children are written.
const (
	ordered    = "Ordered"
	unordered  = "Unordered"
	blockquote = "Blockquote"
	group      = "Group"
)

// Blocks checks a block array as a client sends it: every node is a map with a block, whose id and type are not empty, and
// may have children. Further keys of a block are kept, those of a node dropped. Errors are fault.Invalid.
func Blocks(list []any) (wire.PromptBlocks, error) {
	return (&room{blocks: MaxBlocks, bytes: MaxBytes}).nodes(list, 1)
}

// room is what may still come, so that a hostile array is refused before anything is rendered.
type room struct{ blocks, bytes int }

func (r *room) nodes(list []any, depth int) ([]wire.PromptBlock, error) {
	if depth > MaxDepth {
		return nil, fault.Invalid("System prompt is nested too deeply")
	}
	if r.blocks -= len(list); r.blocks < 0 {
		return nil, fault.Invalid("System prompt has too many blocks")
	}
	out := make([]wire.PromptBlock, 0, len(list))
	for _, item := range list {
		node, err := r.node(item, depth)
		if err != nil {
			return nil, err
		}
		out = append(out, node)
	}
	return out, nil
}

func (r *room) node(item any, depth int) (node wire.PromptBlock, err error) {
	fields, _ := item.(map[string]any)
	block, ok := fields["block"].(map[string]any)
	if !ok {
		return node, fault.Invalid("System prompt block is required")
	}
	if text(block, "id") == "" {
		return node, fault.Invalid("System prompt block id is required")
	}
	if text(block, "type") == "" {
		return node, fault.Invalid("System prompt block type is required")
	}
	if r.bytes -= len(text(block, "text")); r.bytes < 0 {
		return node, fault.Invalid("System prompt is too large")
	}
	node.Block = block
	switch children := fields["children"].(type) {
	case nil:
	case []any:
		node.Children, err = r.nodes(children, depth+1)
	default:
		return node, fault.Invalid("System prompt block children must be a list")
	}
	return node, err
}

func text(block map[string]any, key string) string {
	s, _ := block[key].(string)
	return s
}

// attribute finds an attribute where clients put it: in `attributes`, or, as blobs have it, in the block itself.
func attribute(block map[string]any, key string) any {
	if nested, ok := block["attributes"].(map[string]any); ok {
		if v, ok := nested[key]; ok {
			return v
		}
	}
	return block[key]
}

func attributeText(block map[string]any, key string) string {
	s, _ := attribute(block, key).(string)
	return s
}
