package tutor

import (
	"regexp"
	"strings"
)

// scene is something the tutor can show.
type scene struct {
	// needs are the tools that it calls.
	needs []string
	// pattern recognises the request, with or without its final punctuation, in any case. Its groups are the arguments.
	pattern *regexp.Regexp
	// try is an example of a request, for the list of suggestions; empty keeps the scene out of it.
	try string
	// shows says in a few words what happens.
	shows string
	// play decides the next step.
	play func(t turn, args []string) reply
}

// please is what politeness puts before a request.
const please = `(?i)^(?:(?:please|so|and|then|well|now|ok|okay|hey|hi|hello|tutor|can you|could you|would you|will you|let's|let us|i want you to)[,:]?\s+)*`

func asks(pattern string) *regexp.Regexp { return regexp.MustCompile(please + `(?s:` + pattern + `)$`) }

// address matches what the verbs take as an address.
const address = `((?:~/|hm://|https?://|ipfs://|thread:|run:|activity:|attachment:)\S*)`

// scenes makes the list that is tried in order; the first whose pattern matches plays.
func scenes() []scene {
	return []scene{
		{pattern: asks(`(?:what|anything)\b.*\b(?:remember|recall|know about me|in (?:your )?memory|notes?)\b.*|(?:show|list|read)?\s*(?:me\s+)?(?:your |my |the )?(?:memory|memories|notes)`),
			needs: []string{"read"}, try: "what do you remember?", shows: "I list and read my memory", play: playRecall},
		{pattern: asks(`(?:remember|note|keep in mind|write down|jot down|memori[sz]e)\b[\s:,]*(?:that\b\s*|down\b[\s:,]*)?(.*)`),
			needs: []string{"write"}, try: "remember that I like green tea", shows: "I keep a note in my memory", play: playRemember},
		{pattern: asks(`(?:forget|delete|remove)\s+(~/memory/\S+)`), needs: []string{"write"}, play: playForget},
		{pattern: asks(`write\s+` + address + `(?:\s*[:,]\s*|\s+)(.+)`), needs: []string{"write"}, play: playWriteTo},
		{pattern: asks(`(?:write|save|put)\s+(.+?)\s+(?:to|into|in|at)\s+` + address), needs: []string{"write"}, play: playWriteInto},
		{pattern: asks(`(?:read|open|fetch|get|show|show me|look at|list|what is (?:at|in))\s+` + address), needs: []string{"read"}, play: playRead},
		{pattern: asks(`.*\b(?:real|actual|better|proper|other|another|language) (?:language )?model\b.*|.*\b(?:api key|provider|ollama|connect)\b.*`),
			try: "how do I connect a real model?", shows: "where a provider's key goes", play: playConnect},
		{pattern: asks(`(?:show (?:me )?yourself|who are you|what are you|about yourself|tell me about yourself|describe yourself|self|your ?self)`),
			needs: []string{"read"}, try: "show yourself", shows: "I read my own definition", play: reading("~/self", "This is how this agent is defined:")},
		{pattern: asks(`(?:show |list |what (?:are )?)?(?:me )?(?:your |the |my |all )?tools?(?: do you have| can you (?:use|call)| are there)?`),
			needs: []string{"read"}, try: "tools", shows: "I list what can be called", play: reading("~/tools/", "These are the tools of this agent:")},
		{pattern: asks(`(?:show |list )?(?:me )?(?:your |the |my )?triggers`),
			needs: []string{"read"}, play: reading("~/triggers/", "These are the triggers of this agent:")},
		{pattern: asks(`(?:show |list )?(?:me )?(?:your |the |my )?(?:threads|sessions|conversations)`),
			needs: []string{"read"}, play: reading("thread:", "These are the conversations of this agent:")},
		{pattern: asks(`(?:call|use|run)\s+(?:the\s+)?(?:tool\s+)?([A-Za-z][\w.-]*)(?:\s+tool)?(?:\s+with)?\s*(\{.*\})?`),
			needs: []string{"call"}, try: `call search with {"query": "loam"}`, shows: "I call a tool by its name", play: playCall},
		{pattern: asks(`delegate\b[\s:,]*(?:to (?:a|another) (?:child|agent)\b[\s:,]*)?(.*)`),
			needs: []string{"delegate"}, try: "delegate: say hello", shows: "I start a child run and report its answer", play: playDelegate},
		{pattern: asks(`(?:(?:re)?name|title|call)\s+(?:this|the|it)\b(?:\s+(?:conversation|session|thread|chat))?(?:\s+(?:as|to))?[\s:]+(.+)`),
			needs: []string{"status"}, try: "name this conversation Tea time", shows: "I set the title", play: playTitle},
		{pattern: asks(`continue (?:this |it )?in a (?:new|fresh) (?:session|conversation|thread)`),
			needs: []string{"continue_session"}, try: "continue in a new session", shows: "I hand over to a fresh conversation", play: playContinue},
		{pattern: asks(`.*\b(?:plan|tour|demo|demonstrate|show me everything|show me around|what can loam do)\b.*`),
			try: "give me a tour", shows: "I work through a small plan step by step", play: playTour},
		{pattern: asks(`.*\b(?:help|what can you do|what do you do|how does this work|commands)\b.*`), play: playHello},
		{pattern: asks(`(?:hello|hi|hey|good (?:morning|evening|day)|greetings|help|start|test)?(?:\s+(?:there|tutor|loam|all|everyone))?`), play: playHello},
	}
}

// respond chooses what to do next.
func respond(t turn) reply {
	if len(t.rounds) >= maxRounds {
		return say("I have made enough calls for one request, so I stop here.")
	}
	if t.has("return_result") {
		return playDeliver(t)
	}
	for _, s := range t.scenes {
		args := s.match(t.text)
		if args == nil {
			continue
		}
		if !t.has(s.needs...) {
			return say("This conversation does not offer me what I would need for that. %s", suggest(t, 3))
		}
		return s.play(t, args)
	}
	return playUnknown(t)
}

// match returns the arguments of a request, nil when the text is not one for this scene. The text as it was said goes
// first: what a person dictates keeps its full stop.
func (s scene) match(text string) []string {
	found := s.pattern.FindStringSubmatch(text)
	if found == nil {
		found = s.pattern.FindStringSubmatch(strings.TrimRight(text, endings))
	}
	if found == nil {
		return nil
	}
	args := found[1:]
	for i, arg := range args {
		args[i] = strings.TrimSpace(arg)
	}
	return args
}

// endings close a sentence. They are not part of an address or of a tool's name.
const endings = ".,;:!?… \n\t"

// suggestions are the scenes that can be played now.
func suggestions(t turn) []scene {
	var out []scene
	for _, s := range t.scenes {
		if s.try != "" && t.has(s.needs...) {
			out = append(out, s)
		}
	}
	return out
}

// suggest names at most n things to try.
func suggest(t turn, n int) string {
	list := suggestions(t)
	list = list[:min(n, len(list))]
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = "“" + s.try + "”"
	}
	return "You could try " + strings.Join(quoted, ", ") + "."
}
