package command

import (
	"context"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/wire"
)

// everyPage reads a list to its end. rows takes what a page holds and the cursor of the next one.
func everyPage[R, T any](ctx context.Context, cl *client.Client, action string, rows func(R) ([]T, string)) ([]T, error) {
	out := []T{}
	limit := int64(200)
	request := wire.PageRequest{Limit: &limit}
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
		request.Cursor = &next
	}
}
