package chat

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/loam-agents/loam/wire"
)

// Printer is the View for people. It is not safe for concurrent use.
type Printer struct {
	out   io.Writer
	style Style
	// own are the messages that the person typed here: the terminal shows them already.
	own map[string]bool
	// calls are the tool calls without a result.
	calls map[string]call
	// shown is what was printed of the message that is being written, partial its id.
	shown, partial string
	// muted keeps pieces from the screen until the next durable event, because some were missed.
	muted bool
	// open says that the cursor stands inside of a line.
	open bool
	// busy says that the cursor stands behind a word about what the agent does, which the next output replaces.
	busy bool
	// plan is the present plan as text, printed the one on the screen.
	plan, printed string
	lost          bool
}

type call struct {
	text string
	at   int64
}

// NewPrinter prints to out.
func NewPrinter(out io.Writer, style Style) *Printer {
	return &Printer{out: out, style: style, own: map[string]bool{}, calls: map[string]call{}}
}

// Transcript prints what was said until now, with the messages of all sides.
func (p *Printer) Transcript(s wire.SessionInfo, events []wire.SessionEvent) {
	for _, e := range events {
		p.Event(e)
	}
	p.Session(s)
}

// Latest returns the end of a list of events, from a person's message on: at least so many events when there are as many,
// and everything when there is no such message before them. An answer is never shown without its question, nor a result
// without its call.
func Latest(events []wire.SessionEvent, least int) []wire.SessionEvent {
	for i := min(len(events)-least, len(events)-1); i > 0; i-- {
		if p := decode(events[i]); p.Type == typeMessage && p.Role == roleUser {
			return events[i:]
		}
	}
	return events
}

// Own marks a message as typed here, so that it is not repeated.
func (p *Printer) Own(clientMessageID string) { p.own[clientMessageID] = true }

// Event implements View.
func (p *Printer) Event(e wire.SessionEvent) {
	switch ev := decode(e); ev.Type {
	case typeMessage:
		p.message(ev)
	case typeToolCall:
		p.calls[ev.ID] = call{text: callText(ev), at: e.CreatedAt}
	case typeToolResult:
		p.result(ev, e.CreatedAt)
	case typeError:
		p.settle()
		p.line(p.style.alarm("error: ") + harmless(ev.Message))
	}
	p.muted = false
	if p.shown == "" {
		p.printPlan()
	}
}

func (p *Printer) message(ev payload) {
	if ev.Role != roleAssistant {
		if !p.own[ev.ClientMessageID] {
			p.settle()
			p.line(p.style.bold("> ") + strings.ReplaceAll(harmless(ev.Content), "\n", "\n  "))
		}
		return
	}
	rest, continues := strings.CutPrefix(ev.Content, p.shown)
	switch {
	case continues:
		p.text(rest)
	case strings.TrimSpace(p.shown) != strings.TrimSpace(ev.Content):
		// What was shown is not the beginning of this message: the turn was started again.
		p.endLine()
		p.text(ev.Content)
	}
	p.shown, p.partial = "", ""
	p.endLine()
}

// result prints a tool call with its answer's time, or its error.
func (p *Printer) result(ev payload, at int64) {
	c, ok := p.calls[ev.ToolCallID]
	if !ok {
		c = call{text: oneLine(ev.Name, 40), at: at}
	}
	delete(p.calls, ev.ToolCallID)
	took := duration(c.at, at)
	if ev.Meta != nil && ev.Meta.DurationMs > 0 {
		took = time.Duration(ev.Meta.DurationMs) * time.Millisecond
	}
	text := "· " + c.text
	if took >= time.Millisecond {
		text += fmt.Sprintf(" %d ms", took.Milliseconds())
	}
	if ev.Error != "" {
		text += " failed: " + oneLine(ev.Error, 200)
	}
	p.settle()
	p.line(p.style.dim(text))
}

// callText names a call by what it is about.
func callText(ev payload) string {
	var input struct {
		Address, Tool, Title string
	}
	name := oneLine(ev.Name, 40)
	if json.Unmarshal(ev.Input, &input) != nil {
		return name
	}
	for _, about := range []string{input.Address, input.Tool, input.Title} {
		if about != "" {
			return name + " " + oneLine(about, 100)
		}
	}
	return name
}

// Partial implements View.
func (p *Printer) Partial(id string, patch wire.PartialPatch) {
	if patch.Activity != nil {
		p.activity(*patch.Activity)
	}
	if patch.TextDelta == "" {
		return
	}
	if p.partial != "" && p.partial != id {
		p.muted = true
	}
	if p.muted {
		return
	}
	p.partial = id
	p.shown += patch.TextDelta
	p.text(patch.TextDelta)
}

// activity shows, where it can be taken back, what the agent does before its next word.
func (p *Printer) activity(a wire.RunActivity) {
	p.idle()
	if !p.style.Color || p.open || p.muted {
		return
	}
	text := ""
	switch a.Phase {
	case "starting", "thinking":
		text = "thinking …"
	case "tool":
		// Short, since only the line that the cursor stands in can be taken back.
		text = oneLine(a.ToolName+" "+a.Detail, 60) + " …"
	default:
		return
	}
	_, _ = io.WriteString(p.out, p.style.dim(text))
	p.busy = true
}

// idle takes the word about what the agent does from the screen.
func (p *Printer) idle() {
	if p.busy {
		p.busy = false
		_, _ = io.WriteString(p.out, "\r\x1b[K")
	}
}

// Session implements View: it prints the plan when it has changed, though not into the middle of a message.
func (p *Printer) Session(s wire.SessionInfo) {
	p.plan = planText(s.Plan)
	if p.shown == "" {
		p.printPlan()
	}
}

func (p *Printer) printPlan() {
	if p.plan != p.printed && p.plan != "" {
		p.line(p.style.dim(p.plan))
	}
	p.printed = p.plan
}

// planText is a plan as a checklist, without a line break at its end.
func planText(plan *wire.RunPlan) string {
	if plan == nil || len(plan.Steps) == 0 {
		return ""
	}
	var lines []string
	if plan.Title != "" {
		lines = append(lines, "Plan: "+oneLine(plan.Title, 100))
	}
	marks := map[string]string{"done": "x", "running": ">", "failed": "!", "skipped": "-"}
	for _, step := range plan.Steps {
		mark, ok := marks[step.Status]
		if !ok {
			mark = " "
		}
		lines = append(lines, fmt.Sprintf("  [%s] %s", mark, oneLine(step.Label, 120)))
	}
	return strings.Join(lines, "\n")
}

// Lost implements View.
func (p *Printer) Lost(error) {
	if p.lost {
		return
	}
	p.lost = true
	p.muted = true
	p.line(p.style.dim("(the connection is lost; waiting for the server)"))
}

// Back implements View.
func (p *Printer) Back() {
	if p.lost {
		p.lost = false
		p.line(p.style.dim("(connected again)"))
	}
}

// Asked implements View.
func (p *Printer) Asked(approvals []wire.ApprovalInfo) {
	for i := len(approvals) - 1; i >= 0; i-- {
		p.Note(Ask(approvals[i]))
	}
}

// Ask is how a call that waits for a person is shown, with what to do about it.
func Ask(a wire.ApprovalInfo) string {
	doubt := ""
	if a.InDoubt {
		doubt = ", which may have taken effect already"
	}
	return harmless(fmt.Sprintf("waits for you: %s %s%s; loam approvals approve %s, or reject", a.Tool, a.Arguments, doubt, a.ID))
}

// Note prints a remark of the program itself.
func (p *Printer) Note(text string) { p.line(p.style.dim(text)) }

// Fault prints what went wrong and what to do.
func (p *Printer) Fault(text string) { p.line(p.style.alarm("error: ") + harmless(text)) }

// Discard forgets a message that will not be finished and ends its line.
func (p *Printer) Discard() {
	p.settle()
	p.endLine()
}

// settle leaves a message that is being written, because something else comes before its end.
func (p *Printer) settle() { p.shown, p.partial = "", "" }

// text prints a piece of a message.
func (p *Printer) text(text string) {
	text = harmless(text)
	if text == "" {
		return
	}
	p.idle()
	_, _ = io.WriteString(p.out, text)
	p.open = !strings.HasSuffix(text, "\n")
}

// line prints whole lines.
func (p *Printer) line(text string) {
	p.endLine()
	_, _ = io.WriteString(p.out, text+"\n")
}

func (p *Printer) endLine() {
	p.idle()
	if p.open {
		_, _ = io.WriteString(p.out, "\n")
		p.open = false
	}
}
