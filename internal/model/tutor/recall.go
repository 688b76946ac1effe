package tutor

import (
	"strings"
)

// maxNotes is how many files playRecall reads: enough to show the idea.
const maxNotes = 4

// notesFolder is where playRemember writes, relative to ~/memory/.
const notesFolder = "notes"

// playRecall lists the memory, then the notes in it, then reads some of them side by side.
func playRecall(t turn, _ []string) reply {
	if len(t.rounds) == 0 {
		return say("I look into my memory.").then("read", readCall("~/memory/"))
	}
	for _, o := range t.rounds[len(t.rounds)-1] {
		if text, failed := o.trouble(); failed {
			return reply{say: text}
		}
	}
	root := t.rounds[0][0]
	entries := root.entries("")
	if len(entries) == 0 {
		if _, isListing := root.body()["entries"]; isListing {
			return say("My memory is empty. Tell me something to remember, and it will be there.")
		}
		return say("This is what my memory shows:\n\n%s", quote(root.content()))
	}
	if hasNotes(entries) {
		if len(t.rounds) == 1 {
			return say("There are notes; I list them.").then("read", readCall("~/memory/"+notesFolder+"/"))
		}
		return readFiles(t, t.rounds[1][0].entries(notesFolder), t.rounds[2:])
	}
	return readFiles(t, entries, t.rounds[1:])
}

func hasNotes(entries []entry) bool {
	for _, e := range entries {
		if e.path == notesFolder && e.folder {
			return true
		}
	}
	return false
}

// readFiles reads the first files of a listing, and quotes them once they were read.
func readFiles(t turn, entries []entry, rounds []round) reply {
	var files []string
	for _, e := range entries {
		if !e.folder && len(files) < maxNotes {
			files = append(files, e.path)
		}
	}
	if len(files) == 0 {
		return say("My memory holds folders, but no notes in them that I would know of.")
	}
	if len(rounds) == 0 {
		out := say("I read %s.", strings.Join(files, ", "))
		for _, f := range files {
			out = out.then("read", readCall("~/memory/"+f))
		}
		return out
	}
	var b strings.Builder
	b.WriteString("This is what I remember:\n")
	for i, o := range rounds[0] {
		if i < len(files) {
			b.WriteString("\n" + files[i] + ":\n\n" + quote(o.content()) + "\n")
		}
	}
	return reply{say: strings.TrimSpace(b.String())}
}
