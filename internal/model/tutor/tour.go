package tutor

import (
	"fmt"
	"strings"
)

// stop is one station of the tour.
type stop struct {
	verb  string
	label string
	args  map[string]any
	// showsResult tells whether the report quotes what the call returned.
	showsResult bool
}

const (
	tourNote = "~/memory/tour.md"
	tourText = "The tutor was here and left this note during its tour.\n"
)

// stops are the stations whose verbs are offered.
func stops(t turn) []stop {
	all := []stop{
		{verb: "status", label: "Name this conversation", args: map[string]any{
			"title": "A tour of Loam", "description": "The tutor shows what an agent can do."}},
		{verb: "read", label: "Read my own definition", args: readCall("~/self")},
		{verb: "write", label: "Leave a note in my memory", args: map[string]any{"address": tourNote, "content": tourText}},
		{verb: "read", label: "Read the note back", args: readCall(tourNote), showsResult: true},
		{verb: "read", label: "List my tools", args: readCall("~/tools/"), showsResult: true},
	}
	var out []stop
	for _, s := range all {
		if t.has(s.verb) && (s.args["address"] != tourNote || t.has("read", "write")) {
			out = append(out, s)
		}
	}
	return out
}

// playTour works through the stops, one a round, with the plan beside the call where a plan can be made.
func playTour(t turn, _ []string) reply {
	list := stops(t)
	if len(list) == 0 {
		return say("This conversation offers me nothing that I could show on a tour. %s", suggest(t, 3))
	}
	at := len(t.rounds)
	planning := t.has("plan") && !planFailed(t)
	if at < len(list) {
		out := say("%s.", list[at].label)
		if at == 0 {
			out = say("A short tour, in %d steps. First: %s.", len(list), lowerFirst(list[at].label))
		}
		if planning {
			out = out.then("plan", plan(t, list, at))
		}
		return out.then(list[at].verb, list[at].args)
	}
	if at == len(list) && planning {
		return say("That was the last step; I close the plan.").then("plan", plan(t, list, at))
	}
	return reply{say: tourReport(t, list)}
}

// planFailed tells whether a plan of this tour was refused; then the tour goes on without.
func planFailed(t turn) bool {
	for _, r := range t.rounds {
		for _, o := range r {
			if o.name == "plan" && (o.isError || !o.answered) {
				return true
			}
		}
	}
	return false
}

// station is the outcome of the tour's own call in a round, which stands after the plan's.
func station(t turn, i int) outcome { return t.rounds[i][len(t.rounds[i])-1] }

// plan is the checklist with step at running; what lies before it says how it went.
func plan(t turn, list []stop, at int) map[string]any {
	steps := make([]any, len(list))
	for i, s := range list {
		status := "pending"
		switch {
		case i == at:
			status = "running"
		case i < at:
			status = "done"
			if _, failed := station(t, i).trouble(); failed {
				status = "failed"
			}
		}
		steps[i] = map[string]any{"id": fmt.Sprintf("tour-%d", i+1), "label": s.label, "status": status}
	}
	return map[string]any{"title": "A tour of Loam", "steps": steps}
}

func tourReport(t turn, list []stop) string {
	var b strings.Builder
	b.WriteString("That was the tour:\n")
	for i, s := range list {
		o := station(t, i)
		if text, failed := o.trouble(); failed {
			b.WriteString("\n" + s.label + " did not work. " + text + "\n")
			continue
		}
		b.WriteString("\n" + s.label + ": done with `" + s.verb + "`.\n")
		if s.showsResult {
			b.WriteString("\n" + quote(o.content()) + "\n")
		}
	}
	b.WriteString("\nEvery step stands in this conversation's log. " + suggest(t, 3))
	return b.String()
}

func lowerFirst(text string) string { return strings.ToLower(text[:1]) + text[1:] }
