package crashtest_test

import (
	"fmt"

	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
)

// items is how many different things the model can be told to remember in one rig.
const items = 64

func item(n int) string { return fmt.Sprintf("item-%02d", n) }

// scriptUsage is what every generation of the script costs.
var scriptUsage = model.Usage{Input: 100, Output: 7, Total: 107}

// script is a model whose answer depends on the conversation alone, so that it says the same after a restart. For each item
// it makes two rounds of calls (write, plan, read; then write and plan) before it answers. When it learns of a call whose
// effect is not known, it looks before it answers, as a real model is told to.
func script() scripted.Script {

	answer := func(match scripted.Match, steps ...scripted.Step) scripted.Turn {
		return scripted.Turn{Match: match, Repeat: true, Steps: steps, Usage: scriptUsage}
	}
	turns := []scripted.Turn{
		answer(scripted.Match{Result: "~/memory/:"}, text("Now"), text(" it is"), text(" settled.")),
		answer(scripted.Match{Result: "The server restarted"}, text("Let me look"), text(" at what was done."), calls("read", `{"address":"~/memory/"}`)),
		answer(scripted.Match{Result: "/log-"}, text("It"), text(" is"), text(" noted.")),
	}
	for n := range items {
		name := item(n)
		turns = append(turns,
			answer(scripted.Match{User: "open steps: “Note " + name}, text("The plan"), text(" is not settled."), calls("plan", plan(name, "done"))),
			answer(scripted.Match{Result: "/" + name + ".md"}, text("One more"), text(" thing."),
				calls("write", fmt.Sprintf(`{"address":"~/memory/log-%s.md","content":"log of %s"}`, name, name)), calls("plan", plan(name, "done"))),
			answer(scripted.Match{User: "Remember " + name + "."}, text("I"), text(" note"), text(" it."),
				calls("write", fmt.Sprintf(`{"address":"~/memory/%s.md","content":"content of %s"}`, name, name)),
				calls("plan", plan(name, "running")),
				calls("read", fmt.Sprintf(`{"address":"~/memory/%s.md"}`, name))))
	}
	// After a crash the answer may come before the plan is settled: then the turn is handed back for it.
	turns = append(turns, answer(scripted.Match{Result: `{"ok":true}`}, text("Now"), text(" the plan"), text(" is settled.")))
	return scripted.Script{Turns: turns}
}

func text(delta string) scripted.Step { return scripted.Step{Text: delta} }

func calls(name, arguments string) scripted.Step {
	return scripted.Step{Call: &scripted.Call{Name: name, Arguments: arguments}}
}

func plan(name, status string) string {
	return fmt.Sprintf(`{"steps":[{"id":"note","label":"Note %s","status":%q}]}`, name, status)
}
