package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// rowsOf is a list under whatever name, with the cursor of the next one.
func rowsOf(t *testing.T, api *servertest.REST, path, list, id string) (ids []string, next string) {
	t.Helper()
	out := servertest.Get[map[string]json.RawMessage](api, path)
	var rows []map[string]any
	if err := json.Unmarshal(out[list], &rows); err != nil {
		t.Fatalf("%s: %v in %s", path, err, out[list])
	}
	for _, row := range rows {
		ids = append(ids, fmt.Sprint(row[id]))
	}
	if out["nextCursor"] != nil {
		if err := json.Unmarshal(out["nextCursor"], &next); err != nil {
			t.Fatal(err)
		}
	}
	return ids, next
}

func TestListsArePagedWithOneFormOfCursor(t *testing.T) {
	each(t, func(t *testing.T, cfg server.Config) {
		w := build(t, cfg)
		const n = 5
		for i := range n {
			servertest.Post[object](w.api, "/agents", object{"definition": definition(nil)})
			servertest.Post[object](w.api, "/tokens", object{"name": "x", "scopes": []string{"read"}})
			servertest.Post[object](w.api, "/keys", object{"name": "x", "key": newKey(t, byte(20+i)).ID().String()})
			w.h.Delegate(newKey(t, byte(40+i)))
			w.h.Browser()
		}
		for _, list := range []struct {
			path, name, id string
			more           int
		}{
			// The server's own agent and that of the test, and the token of the test, are there as well.
			{"/agents", "agents", "id", 2}, {"/tokens", "tokens", "id", 1}, {"/keys", "keys", "key", 0}, {"/signers", "signers", "signerId", 0},
			{"/sign-ins", "signIns", "id", 0},
		} {
			all, next := rowsOf(t, w.api, list.path, list.name, list.id)
			if len(all) != n+list.more || next != "" {
				t.Errorf("%s without a limit: %d rows, next %q", list.path, len(all), next)
			}
			var seen []string
			cursor := ""
			for range n + list.more {
				query := "?limit=2"
				if cursor != "" {
					query += "&cursor=" + cursor
				}
				var ids []string
				ids, cursor = rowsOf(t, w.api, list.path+query, list.name, list.id)
				if seen = append(seen, ids...); len(ids) > 2 || cursor == "" {
					break
				}
			}
			if fmt.Sprint(seen) != fmt.Sprint(all) || cursor != "" {
				t.Errorf("%s in pages is %v, whole %v", list.path, seen, all)
			}
			for _, bad := range []string{"?limit=0", "?limit=x", "?cursor=no", "?other=1"} {
				refused(t, w.api.Do("GET", "/api/v1"+list.path+bad, nil), http.StatusBadRequest, "validation_failed")
			}
		}
		// A client of the protocol that asks for no page gets them all, in one answer.
		if got := servertest.Call[wire.ListAgentsResponse](w.h, "ListAgents", nil); len(got.Agents) != n+2 || got.NextCursor != "" {
			t.Errorf("ListAgents: %d agents, next %q", len(got.Agents), got.NextCursor)
		}
		if got := servertest.Call[wire.ListAgentsResponse](w.h, "ListAgents", object{"limit": 3}); len(got.Agents) != 3 || got.NextCursor == "" {
			t.Errorf("a page of ListAgents: %d agents, next %q", len(got.Agents), got.NextCursor)
		}
	})
}
