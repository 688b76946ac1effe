package activity_test

import (
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/hypermedia/hypermediatest"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/space/activity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheFeedIsAskedForWithItsFilters(t *testing.T) {
	t.Parallel()
	server := hypermediatest.New(t)
	s := activity.New(hypermediatest.Client(t, server.URL))
	out, err := s.Read(t.Context(), space.Scope{}, space.ReadRequest{Address: "activity:", Options: map[string]any{
		"authors": []any{"hm://z6a/:profile", "z6b"}, "eventTypes": "Comment", "resource": "hm://z6a/*", "trustedOnly": true, "pageSize": 500., "pageToken": "t",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if encoded, _ := json.Marshal(out["events"]); out["summary"] != "3 events" || !strings.Contains(string(encoded), `"type": "contact"`) && !strings.Contains(string(encoded), `"type":"contact"`) {
		t.Errorf("%v", out)
	}
	asked := server.Asked()[0].Query
	if got := asked.Encode(); got != "filterAuthors=%5B%22z6a%22%2C%22z6b%22%5D&filterEventType=%5B%22Comment%22%5D&filterResource=hm%3A%2F%2Fz6a%2F%2A&pageSize=50&pageToken=t&trustedOnly=true" {
		t.Errorf("asked %s", got)
	}
}

func TestWrongOptionsAndServersThatFailAreSaid(t *testing.T) {
	t.Parallel()
	server := hypermediatest.New(t)
	s := activity.New(hypermediatest.Client(t, server.URL))
	for _, options := range []map[string]any{{"x": 1}, {"authors": 1.}, {"authors": []any{1.}}, {"resource": 1.}, {"pageSize": 0.}, {"trustedOnly": "yes"}} {
		if _, err := s.Read(t.Context(), space.Scope{}, space.ReadRequest{Options: options}); fault.CodeOf(err) != fault.ValidationFailed {
			t.Errorf("%v: %v", options, err)
		}
	}
	server.Answer("ListEvents", "Nope", 500, `{"error":"[invalid_argument] unknown event type"}`)
	if _, err := s.Read(t.Context(), space.Scope{}, space.ReadRequest{Options: map[string]any{"eventTypes": []any{"Nope"}}}); fault.CodeOf(err) != fault.ProviderError {
		t.Errorf("a bad type: %v", err)
	}
	none := activity.New(nil)
	if _, err := none.Read(t.Context(), space.Scope{}, space.ReadRequest{}); fault.CodeOf(err) != fault.Unavailable || none.Forms() != nil || len(s.Forms()) != 1 {
		t.Errorf("no server: %v", err)
	}
}

func TestAHugeFeedIsCutBetweenEvents(t *testing.T) {
	t.Parallel()
	server := hypermediatest.New(t)
	event := `{"text":"` + strings.Repeat("x", 90<<10) + `"}`
	server.Answer("ListEvents", "", 200, `{"json":{"events":[`+event+","+event+","+event+`],"nextPageToken":"more"}}`)
	out, err := activity.New(hypermediatest.Client(t, server.URL)).Read(t.Context(), space.Scope{}, space.ReadRequest{})
	if err != nil || out["summary"] != "2 events" || out["truncated"] != true || out["nextPageToken"] != "more" {
		t.Errorf("%v, %v", out["summary"], err)
	}
}
