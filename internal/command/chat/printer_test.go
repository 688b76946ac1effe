package chat_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/command/chat"
	"github.com/loam-agents/loam/wire"
)

// stage feeds a printer and numbers events.
type stage struct {
	out strings.Builder
	*chat.Printer
	seq int64
	// shown, when not nil, is called after everything that was shown, with its text.
	shown func(text string)
}

// Event implements chat.View.
func (s *stage) Event(e wire.SessionEvent) {
	s.Printer.Event(e)
	s.tell(string(e.Event))
}

// Partial implements chat.View.
func (s *stage) Partial(id string, patch wire.PartialPatch) {
	s.Printer.Partial(id, patch)
	s.tell(patch.TextDelta)
}

func (s *stage) tell(text string) {
	if s.shown != nil {
		s.shown(text)
	}
}

func newStage(style chat.Style) *stage {
	s := &stage{}
	s.Printer = chat.NewPrinter(&s.out, style)
	return s
}

// at shows an event of a time in milliseconds.
func (s *stage) at(millis int64, event any) {
	text, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	s.seq++
	s.Event(wire.SessionEvent{Seq: s.seq, Event: text, CreatedAt: millis})
}

func (s *stage) says(text string) {
	s.at(0, wire.MessageEvent{Type: "message", Role: "assistant", Content: text})
}

func (s *stage) delta(id, text string) { s.Partial(id, wire.PartialPatch{TextDelta: text}) }

func plan(steps ...wire.PlanStep) wire.SessionInfo {
	return wire.SessionInfo{Plan: &wire.RunPlan{Title: "Tea", Steps: steps}}
}

func TestEverythingIsShownOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		play func(*stage)
		want string
	}{
		{"a message that was not streamed", func(s *stage) { s.says("Hello.") }, "Hello.\n"},
		{"a streamed message is not repeated", func(s *stage) {
			s.delta("p", "Hel")
			s.delta("p", "lo.")
			s.says("Hello.")
		}, "Hello.\n"},
		{"the end that the stream lacked is added", func(s *stage) {
			s.delta("p", "Hel")
			s.says("Hello.")
		}, "Hello.\n"},
		{"blanks at the end make no difference", func(s *stage) {
			s.delta("p", "Hello. \n")
			s.says("Hello.")
		}, "Hello. \n"},
		{"after a lost connection pieces wait for the message", func(s *stage) {
			s.delta("p", "Hello, ")
			s.Lost(errors.New("reset"))
			s.Lost(errors.New("refused"))
			s.Back()
			s.delta("q", "lo, wor")
			s.says("Hello, world.")
			s.delta("r", "Next")
			s.says("Next.")
		}, "Hello, \n(the connection is lost; waiting for the server)\n(connected again)\nworld.\nNext.\n"},
		{"a turn that was started again is shown whole", func(s *stage) {
			s.delta("p", "It is nine")
			s.Lost(errors.New("reset"))
			s.Back()
			s.says("It was ten.")
		}, "It is nine\n(the connection is lost; waiting for the server)\n(connected again)\nIt was ten.\n"},
		{"another attempt of the model does not run into the first", func(s *stage) {
			s.delta("p", "It is ni")
			s.delta("q", "It is te")
			s.says("It is ten.")
		}, "It is ni\nIt is ten.\n"},
		{"own messages stand on the screen already", func(s *stage) {
			s.Own("m1")
			s.at(0, wire.MessageEvent{Type: "message", Role: "user", Content: "mine", ClientMessageID: "m1"})
			s.at(0, wire.MessageEvent{Type: "message", Role: "user", Content: "another's\nline"})
		}, "> another's\n  line\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(chat.Style{})
			tt.play(s)
			if diff := cmp.Diff(tt.want, s.out.String()); diff != "" {
				t.Errorf("screen (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAToolCallIsOneLine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, input, failure, want string
	}{
		{"read", `{"address":"~/memory/"}`, "", "· read ~/memory/ 12 ms\n"},
		{"call", `{"tool":"web_search"}`, "", "· call web_search 12 ms\n"},
		{"read", `null`, "", "· read 12 ms\n"},
		{"read", `[1]`, "", "· read 12 ms\n"},
		{"write", `{"address":"~/x"}`, "no\nroom", "· write ~/x 12 ms failed: no room\n"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			s := newStage(chat.Style{})
			s.at(1000, wire.ToolCallEvent{Type: "tool_call", ID: "c1", Name: tt.name, Input: json.RawMessage(tt.input)})
			s.at(1012, wire.ToolResultEvent{Type: "tool_result", ToolCallID: "c1", Name: tt.name, Error: tt.failure})
			if got := s.out.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestThePlanIsPrintedWhenItChangesAndNeverInsideAMessage(t *testing.T) {
	t.Parallel()
	s := newStage(chat.Style{})
	boil := wire.PlanStep{ID: "a", Label: "Boil", Status: "running"}
	s.Session(plan(boil, wire.PlanStep{ID: "b", Label: "Steep", Status: "pending"}))
	s.Session(plan(boil, wire.PlanStep{ID: "b", Label: "Steep", Status: "pending"}))
	s.delta("p", "It is ")
	boil.Status = "done"
	s.Session(plan(boil, wire.PlanStep{ID: "b", Label: "Steep", Status: "failed"}, wire.PlanStep{ID: "c", Label: "Pour", Status: "skipped"}))
	s.delta("p", "hot.")
	s.says("It is hot.")
	s.Session(wire.SessionInfo{})
	want := "Plan: Tea\n  [>] Boil\n  [ ] Steep\nIt is hot.\nPlan: Tea\n  [x] Boil\n  [!] Steep\n  [-] Pour\n"
	if diff := cmp.Diff(want, s.out.String()); diff != "" {
		t.Errorf("screen (-want +got):\n%s", diff)
	}
}

func TestAnAgentCannotControlTheTerminal(t *testing.T) {
	t.Parallel()
	s := newStage(chat.Style{Color: true})
	evil := "a\x1b]0;title\x07b\u202ec\x9bd\r\u2066e"
	s.delta("p", evil)
	s.says(evil)
	s.says(evil + "!")
	s.at(0, wire.ErrorEvent{Type: "error", Message: evil})
	s.at(0, wire.ToolResultEvent{Type: "tool_result", ToolCallID: "x", Name: evil, Error: evil})
	s.Session(wire.SessionInfo{Plan: &wire.RunPlan{Title: evil, Steps: []wire.PlanStep{{Label: evil}}}})
	s.at(0, wire.MessageEvent{Type: "message", Role: "user", Content: evil})
	for _, sequence := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m"} {
		text := strings.ReplaceAll(s.out.String(), sequence, "")
		s.out.Reset()
		s.out.WriteString(text)
	}
	if got := s.out.String(); strings.ContainsAny(got, "\x1b\x07\r\u202e\u2066\u009b") {
		t.Errorf("control characters reach the terminal: %q", got)
	}
}

func TestAnOldConversationIsShownFromAMessageOfAPersonOn(t *testing.T) {
	t.Parallel()
	log := func(kinds string) []wire.SessionEvent {
		var events []wire.SessionEvent
		for i, kind := range kinds {
			text := `{"type":"tool_call"}`
			switch kind {
			case 'u':
				text = `{"type":"message","role":"user"}`
			case 'a':
				text = `{"type":"message","role":"assistant"}`
			}
			events = append(events, wire.SessionEvent{Seq: int64(i + 1), Event: wire.Payload(text)})
		}
		return events
	}
	for kinds, want := range map[string]int{"": 0, "u": 1, "uaua": 4, "uauatta": 5, "uaucacacaca": 9, "acacacaca": 9, "uauau": 3} {
		if got := len(chat.Latest(log(kinds), 3)); got != want {
			t.Errorf("of %q the last %d events are shown, want %d", kinds, got, want)
		}
	}
}

func TestACallWithoutAMeasurableTimeShowsNone(t *testing.T) {
	t.Parallel()
	s := newStage(chat.Style{})
	s.at(1000, wire.ToolCallEvent{Type: "tool_call", ID: "c1", Name: "read", Input: json.RawMessage(`{"address":"~/x"}`)})
	s.at(1000, wire.ToolResultEvent{Type: "tool_result", ToolCallID: "c1", Name: "read"})
	if got, want := s.out.String(), "· read ~/x\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhatTheAgentDoesIsShownUntilItsNextWord(t *testing.T) {
	t.Parallel()
	does := func(phase, tool, detail string) wire.PartialPatch {
		return wire.PartialPatch{Activity: &wire.RunActivity{Phase: phase, ToolName: tool, Detail: detail}}
	}
	play := func(s *stage) string {
		s.Partial("p", does("starting", "", ""))
		s.Partial("p", does("tool", "read", "~/memory/\x1b[2Ja.md"))
		s.at(0, wire.ToolCallEvent{Type: "tool_call", ID: "c", Name: "read", Input: []byte(`{}`)})
		s.at(0, wire.ToolResultEvent{Type: "tool_result", ToolCallID: "c", Name: "read"})
		s.Partial("q", does("thinking", "", ""))
		s.Partial("q", does("responding", "", ""))
		s.Partial("q", wire.PartialPatch{TextDelta: "An "})
		s.Partial("q", does("thinking", "", ""))
		s.Partial("q", wire.PartialPatch{TextDelta: "answer."})
		s.says("An answer.")
		return s.out.String()
	}
	const gone = "\r\x1b[K"
	want := "\x1b[2mthinking …\x1b[0m" + gone + "\x1b[2mread ~/memory/[2Ja.md …\x1b[0m" + gone + "\x1b[2m· read\x1b[0m\n" +
		"\x1b[2mthinking …\x1b[0m" + gone + "An answer.\n"
	if got := play(newStage(chat.Style{Color: true})); got != want {
		t.Errorf("a terminal shows %q, want %q", got, want)
	}
	if got := play(newStage(chat.Style{})); got != "· read\nAn answer.\n" {
		t.Errorf("what is no terminal gets %q", got)
	}
}
