package tutor

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// once plays a scene of a single round: it makes first's calls, then lets last report on the outcome of the last call.
func once(t turn, first reply, last func(outcome) string) reply {
	if len(t.rounds) == 0 {
		return first
	}
	latest := t.rounds[len(t.rounds)-1]
	for _, o := range latest {
		if text, failed := o.trouble(); failed {
			return reply{say: text}
		}
	}
	return reply{say: last(latest[len(latest)-1])}
}

func readCall(address string) map[string]any { return map[string]any{"address": address} }

// reading is the scene that reads one fixed address.
func reading(address, heading string) func(turn, []string) reply {
	return func(t turn, _ []string) reply {
		first := say("I read `%s`.", address).then("read", readCall(address))
		return once(t, first, func(o outcome) string { return heading + "\n\n" + quote(o.content()) })
	}
}

func playRead(t turn, args []string) reply {
	at := strings.TrimRight(args[0], endings)
	return reading(at, "At `"+at+"` I found:")(t, args)
}

func playRemember(t turn, args []string) reply {
	if args[0] == "" {
		return say("What should I remember? Say, for example, “remember that I like green tea”.")
	}
	at := "~/memory/notes/" + noteName(args[0])
	first := say("I write that down.").then("write", map[string]any{"address": at, "content": args[0] + "\n"})
	return once(t, first, func(outcome) string {
		return fmt.Sprintf("I keep it in `%s`:\n\n%s\n\nIt stays there after this conversation, and any model that drives this agent can use it.", at, quote(args[0]))
	})
}

// noteName is a readable file name; the hash keeps notes with the same first words apart.
func noteName(text string) string {
	slug := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	name := strings.Join(slug[:min(5, len(slug))], "-")
	for len(name) > 40 {
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return strings.Trim(fmt.Sprintf("%s-%04x", name, h.Sum32()&0xffff), "-") + ".md"
}

func playForget(t turn, args []string) reply {
	at := strings.TrimRight(args[0], endings)
	first := say("I delete `%s`.", at).then("write", map[string]any{"address": at, "options": map[string]any{"delete": true}})
	return once(t, first, func(outcome) string { return fmt.Sprintf("`%s` is gone.", at) })
}

func playWriteTo(t turn, args []string) reply { return writeText(t, args[0], args[1]) }

func playWriteInto(t turn, args []string) reply { return writeText(t, args[1], args[0]) }

func writeText(t turn, at, text string) reply {
	at = strings.TrimRight(at, endings)
	first := say("I write that to `%s`.", at).then("write", map[string]any{"address": at, "content": text})
	return once(t, first, func(o outcome) string {
		return fmt.Sprintf("Done: `%s` now holds\n\n%s%s", at, quote(text), note(o))
	})
}

// note adds the verb's own summary, when it gave one.
func note(o outcome) string {
	if o.summary() == "" {
		return ""
	}
	return "\n\n" + o.summary()
}

func playCall(t turn, args []string) reply {
	name, input := strings.TrimRight(args[0], endings), map[string]any{}
	if args[1] != "" {
		if err := json.Unmarshal([]byte(args[1]), &input); err != nil || input == nil {
			return say("The input after the tool's name must be a JSON object, such as {\"query\": \"loam\"}.")
		}
	}
	first := say("I call %s.", name).then("call", map[string]any{"tool": name, "input": input})
	return once(t, first, func(o outcome) string {
		return fmt.Sprintf("%s answered:\n\n%s%s", name, quote(o.content()), note(o))
	})
}

func playDelegate(t turn, args []string) reply {
	brief := args[0]
	if brief == "" {
		brief = "say hello"
	}
	first := say("I hand that to a child run and wait for it.").then("delegate", map[string]any{"title": "A task from the tutor", "brief": brief})
	return once(t, first, func(o outcome) string { return "The child run answered:\n\n" + quote(o.content()) })
}

func playTitle(t turn, args []string) reply {
	title := strings.Trim(args[0], "\"'“”` ")
	first := say("I set the title.").then("status", map[string]any{"title": title})
	return once(t, first, func(outcome) string {
		return fmt.Sprintf("This conversation is now called “%s”, unless you gave it a title yourself: yours always wins.", title)
	})
}

func playContinue(t turn, _ []string) reply {
	first := say("I hand over to a fresh conversation.").then("continue_session", map[string]any{
		"reason":      "The user asked for a fresh conversation.",
		"title":       "Continued with the tutor",
		"description": "A fresh conversation that follows an earlier one.",
		"handoff": map[string]any{
			"purpose":        "Show how a conversation is continued in a new one.",
			"currentRequest": t.text,
		},
	})
	return once(t, first, func(outcome) string { return "The new conversation goes on from here." })
}
