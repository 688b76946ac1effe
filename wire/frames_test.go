package wire_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/loam-agents/loam/wire"
)

func TestAFrameIsEncodedAsItsFieldsSay(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.StringMatching(`[a-zA-Z0-9/_-]{0,12}`), rapid.String())
	rapid.Check(t, func(rt *rapid.T) {
		payload, err := json.Marshal(map[string]any{"type": "message", "content": text.Draw(rt, "content")})
		if err != nil {
			rt.Fatal(err)
		}
		f := wire.Frame{Kind: wire.FrameAppend, Key: text.Draw(rt, "key"), Event: &wire.SessionEvent{
			ID: text.Draw(rt, "id"), SessionID: text.Draw(rt, "session"), Seq: rapid.Int64().Draw(rt, "seq"), Event: payload,
			CreatedAt: rapid.Int64().Draw(rt, "at"),
		}}
		switch rapid.IntRange(0, 9).Draw(rt, "other") {
		case 0:
			f.Message = "more"
		case 1:
			f.Kind = wire.FrameChange
		case 2:
			f.Event.Event = nil
		case 3:
			f.Event = nil
		}
		want, err := json.Marshal(&f)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := f.AppendJSON([]byte("before "))
		if err != nil || string(got) != "before "+string(want) {
			rt.Fatalf("AppendJSON = %s, %v; want %s", got, err, want)
		}
	})
}
