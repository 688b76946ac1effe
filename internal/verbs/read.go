package verbs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// Read is the verb `read`: one dispatcher over every address of the Space.
type Read struct{ router *space.Router }

// NewRead returns the verb over a router.
func NewRead(router *space.Router) *Read { return &Read{router: router} }

// Document implements Verb.
func (v *Read) Document() tooldoc.Document {
	return tooldoc.Document{
		Name: "read", Kind: tooldoc.Verb, Summary: "Read anything that has an address.",
		Description: "Read what stands at an address. Addresses:\n" + forms(v.router, func(f space.Form) string { return f.Read }),
		Input: json.RawMessage(`{"type":"object","properties":{` +
			`"address":{"type":"string","description":"What to read."},` +
			`"format":{"type":"string","enum":["markdown","json"]},` +
			`"options":{"type":"object","description":"Options of the address."}},` +
			`"required":["address"],"additionalProperties":false}`),
	}
}

// Prepare implements Verb.
func (v *Read) Prepare(_ context.Context, scope space.Scope, input json.RawMessage) Action {
	var req space.ReadRequest
	if err := decode(input, &req); err != nil {
		return answer(nil, err)
	}
	return Action{Effect: tooldoc.Pure, Run: func(ctx context.Context) (Result, error) {
		value, err := v.router.Read(ctx, scope, req)
		return Result{Value: value}, err
	}}
}

// Write is the verb `write`: the mirror of read.
type Write struct{ router *space.Router }

// NewWrite returns the verb over a router.
func NewWrite(router *space.Router) *Write { return &Write{router: router} }

// Document implements Verb.
func (v *Write) Document() tooldoc.Document {
	return tooldoc.Document{
		Name: "write", Kind: tooldoc.Verb, Summary: "Write, replace or delete what has an address.",
		Description: "Write to an address. Addresses:\n" + forms(v.router, func(f space.Form) string { return f.Write }) +
			"Guides: read ~/tools/write/<resource>.",
		Input: json.RawMessage(`{"type":"object","properties":{` +
			`"address":{"type":"string","description":"Where to write."},` +
			`"content":{"type":"string","description":"All of the new content."},` +
			`"options":{"type":"object","description":"Options of the address."},` +
			`"dryRun":{"type":"boolean","description":"Check only, where the address supports it."}},` +
			`"required":["address"],"additionalProperties":false}`),
	}
}

// Prepare implements Verb.
func (v *Write) Prepare(_ context.Context, scope space.Scope, input json.RawMessage) Action {
	var req space.WriteRequest
	if err := decode(input, &req); err != nil {
		return answer(nil, err)
	}
	return Action{Effect: v.router.Effect(req.Address), Run: func(ctx context.Context) (Result, error) {
		c, err := v.router.Write(ctx, scope, req)
		return Result{Change: c}, err
	}}
}

func forms(r *space.Router, what func(space.Form) string) string {
	var b strings.Builder
	for _, f := range r.Forms() {
		if text := what(f); text != "" {
			fmt.Fprintf(&b, "- `%s`: %s\n", f.Address, text)
		}
	}
	return b.String()
}
