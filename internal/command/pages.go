package command

import (
	"context"
	"maps"

	"github.com/loam-agents/loam/client"
)

// everyPage reads a list to its end. rows takes what a page holds and the cursor of the next one.
func everyPage[R, T any](ctx context.Context, cl *client.Client, action string, rows func(R) ([]T, string)) ([]T, error) {
	return everyPageOf(ctx, cl, action, map[string]any{}, rows)
}

// everyPageOf is everyPage for the part of a list that a filter selects.
func everyPageOf[R, T any](ctx context.Context, cl *client.Client, action string, filter map[string]any, rows func(R) ([]T, string)) ([]T, error) {
	out := []T{}
	request := maps.Clone(filter)
	request["limit"] = int64(200)
	for {
		reply, err := client.Call[R](ctx, cl, action, request)
		if err != nil {
			return nil, err
		}
		page, next := rows(reply)
		out = append(out, page...)
		if next == "" {
			return out, nil
		}
		request["cursor"] = next
	}
}
