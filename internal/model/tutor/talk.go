package tutor

import (
	"strings"
)

const honest = "I am the tutor: a small program inside Loam, not a language model. I know a few phrases and show what an agent " +
	"here can do; I do not understand anything beyond them."

// playHello introduces the tutor and lists what it can show now.
func playHello(t turn, _ []string) reply {
	var b strings.Builder
	b.WriteString("Hello! " + honest + "\n\nYou could say:\n\n")
	for _, s := range suggestions(t) {
		b.WriteString("- “" + s.try + "”: " + s.shows + verbs(s.needs) + "\n")
	}
	b.WriteString("\nWhen you are ready for real answers, ask me how to connect a real model.")
	return reply{say: b.String()}
}

// verbs names the tools of a scene.
func verbs(needs []string) string {
	if len(needs) == 0 {
		return ""
	}
	return " (`" + strings.Join(needs, "`, `") + "`)"
}

// playConnect says how to get a real model.
func playConnect(turn, []string) reply {
	return say("%s To connect a real one, do one of these:\n\n"+
		"- store a provider's key with `loam providers set` (its `--help` shows how), or use the page's settings;\n"+
		"- or put a key such as `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `GEMINI_API_KEY` into the server's environment and restart `loam serve`;\n"+
		"- or run Ollama on this machine, pull a model, and restart `loam serve`: no key needed.\n\n"+
		"Then choose the new model in the agent's settings.", honest)
}

// playUnknown answers everything else.
func playUnknown(t turn, _ ...string) reply {
	return say("I did not understand that: I am the tutor, a small program and not a language model. %s "+
		"To talk freely, ask me how to connect a real model.", suggest(t, 3))
}
