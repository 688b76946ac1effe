package documents

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/fence"
	"github.com/loam-agents/loam/internal/hypermedia"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/tooldoc"
)

// attributes is the builtin `attributes` (seeds/000 "attributes").
type attributes struct{ client *hypermedia.Client }

// attributePage is how many names or values are listed.
const attributePage = 50

// kindPrefix is how the API spells kinds.
const kindPrefix = "DOCUMENT_ATTRIBUTE_KIND_"

// Document implements callable.Callable.
func (*attributes) Document() tooldoc.Document {
	return tooldoc.Document{
		Name: "attributes", Summary: "Learn which attributes documents have, and their values.",
		Description: "Learn what to ask `query` for. Without key: the names of attributes, with their kinds; parent narrows to those inside of " +
			"one, recursive lists full dotted names. With a dotted key: its values.",
		Input: json.RawMessage(`{"type":"object","properties":{` +
			`"key":{"type":"string","minLength":1,"maxLength":500},` +
			`"parent":{"type":"string","minLength":1,"maxLength":500},` +
			`"recursive":{"type":"boolean"},` +
			`"kind":{"type":"string","enum":["string","int","bool"],"description":"Only values of this kind; needs key."},` +
			`"account":{"type":"string","minLength":1,"maxLength":100,"description":"Names: those of this account first. Values: only its own."},` +
			`"prefix":{"type":"string","maxLength":500},` +
			`"pageSize":{"type":"integer","minimum":1,"maximum":200,"description":"50 unless given."}},` +
			`"additionalProperties":false}`),
	}
}

// Effect implements callable.Callable.
func (*attributes) Effect() tooldoc.Effect { return tooldoc.Pure }

// attributesInput is what the builtin takes.
type attributesInput struct {
	Key, Parent, Kind, Account, Prefix string
	Recursive                          bool
	PageSize                           int
}

// Call implements callable.Callable.
func (t *attributes) Call(ctx context.Context, _ space.Scope, input json.RawMessage) (space.Result, error) {
	var in attributesInput
	if err := decode(input, &in); err != nil {
		return nil, err
	}
	request := map[string]any{"pageSize": cmp.Or(in.PageSize, attributePage)}
	for key, value := range map[string]string{"account": in.Account, "prefix": in.Prefix} {
		if value != "" {
			request[key] = value
		}
	}
	if in.Key != "" {
		return t.values(ctx, in, request)
	}
	if in.Kind != "" {
		return nil, fault.Invalid("kind chooses among the values of a key: give key")
	}
	return t.names(ctx, in, request)
}

func (t *attributes) names(ctx context.Context, in attributesInput, request map[string]any) (space.Result, error) {
	if in.Parent != "" {
		request["parentPath"] = path(in.Parent)
	}
	if in.Recursive {
		request["recursive"] = true
	}
	var got struct {
		Names []struct {
			Name  string
			Kinds []struct{ Kind string }
		}
	}
	if err := t.client.Find(ctx, "ListDocumentAttributeNames", request, &got); err != nil {
		return nil, hypermedia.Explain(err)
	}
	names := []map[string]any{}
	var lines strings.Builder
	for _, n := range got.Names {
		kinds := []string{}
		for _, k := range n.Kinds {
			kinds = append(kinds, strings.ToLower(strings.TrimPrefix(k.Kind, kindPrefix)))
		}
		names = append(names, map[string]any{"name": n.Name, "kinds": kinds})
		fmt.Fprintf(&lines, "- %s (%s)\n", name(n.Name), strings.Join(kinds, ", "))
	}
	return space.Result{
		"summary": fmt.Sprintf("%d attributes", len(names)), "caution": caution, "names": names,
		"markdown": cmp.Or(fence.Outside("attributes", strings.TrimSpace(lines.String())), "There are none."),
	}, nil
}

func (t *attributes) values(ctx context.Context, in attributesInput, request map[string]any) (space.Result, error) {
	request["path"] = path(in.Key)
	if in.Kind != "" {
		request["kind"] = kindPrefix + strings.ToUpper(in.Kind)
	}
	var got struct {
		Values []struct{ Value map[string]any }
	}
	if err := t.client.Find(ctx, "ListDocumentAttributeValues", request, &got); err != nil {
		return nil, hypermedia.Explain(err)
	}
	values := []any{}
	var lines strings.Builder
	for _, v := range got.Values {
		for _, value := range v.Value {
			values = append(values, value)
			fmt.Fprintf(&lines, "- %s\n", name(fmt.Sprint(value)))
		}
	}
	return space.Result{
		"summary": fmt.Sprintf("%d values of %.100q", len(values), in.Key), "caution": caution, "key": in.Key, "values": values,
		"markdown": cmp.Or(fence.Outside("attributes", strings.TrimSpace(lines.String())), "There are none."),
	}, nil
}

func path(dotted string) []string { return strings.Split(dotted, ".") }
