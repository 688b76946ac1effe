package tutor

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// maxQuote bounds what of a result the tutor repeats, in bytes.
const maxQuote = 2000

// body reads a result as an object; nil when it is something else.
func (o outcome) body() map[string]any {
	var object map[string]any
	if err := json.Unmarshal([]byte(o.result), &object); err != nil {
		return nil
	}
	return object
}

// content is the readable part of a result: the fields in which the verbs carry text, else the result as it is.
func (o outcome) content() string {
	object := o.body()
	for _, key := range []string{"content", "markdown", "text", "output", "result", "message"} {
		switch v := object[key].(type) {
		case string:
			if v != "" {
				return v
			}
		case map[string]any:
			if text, ok := v["text"].(string); ok && text != "" {
				return text
			}
		}
	}
	if listing := o.entries(""); len(listing) > 0 {
		var lines []string
		for _, e := range listing {
			lines = append(lines, e.String())
		}
		return strings.Join(lines, "\n")
	}
	return o.result
}

// summary is the one line in which a verb says what it did; empty when there is none.
func (o outcome) summary() string {
	text, _ := o.body()["summary"].(string)
	return text
}

// entry is a file or a folder of a memory listing; path is relative to ~/memory/.
type entry struct {
	path   string
	folder bool
}

// String shows the path, a folder with its slash.
func (e entry) String() string {
	if e.folder {
		return e.path + "/"
	}
	return e.path
}

// entries reads a listing of folder, which is relative to ~/memory/ and empty for its root.
func (o outcome) entries(folder string) []entry {
	list, _ := o.body()["entries"].([]any)
	var out []entry
	for _, item := range list {
		fields, _ := item.(map[string]any)
		name, _ := fields["path"].(string)
		if name == "" {
			continue
		}
		kind, _ := fields["type"].(string)
		_, counted := fields["entryCount"]
		e := entry{folder: counted || strings.HasPrefix(kind, "dir") || kind == "folder" || strings.HasSuffix(name, "/")}
		name = strings.Trim(strings.TrimPrefix(name, "~/memory/"), "/")
		if folder != "" && !strings.HasPrefix(name, folder+"/") {
			name = path.Join(folder, name)
		}
		e.path = name
		out = append(out, e)
	}
	return out
}

// quote sets a foreign text apart, line by line, and bounds it.
func quote(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return "> (nothing)"
	}
	cut := ""
	if len(text) > maxQuote {
		end := maxQuote
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text, cut = text[:end], "\n\n(I cut it here; there is more.)"
	}
	return "> " + strings.ReplaceAll(text, "\n", "\n> ") + cut
}

// trouble explains a call that failed; ok is false when it did not.
func (o outcome) trouble() (text string, ok bool) {
	if !o.answered {
		return fmt.Sprintf("My `%s` call got no answer, so I stop here.", o.name), true
	}
	if !o.isError {
		return "", false
	}
	reason, code := o.result, ""
	switch failure := o.body()["error"].(type) {
	case map[string]any:
		if message, is := failure["message"].(string); is {
			reason = message
		}
		code, _ = failure["code"].(string)
	case string:
		reason = failure
	}
	return fmt.Sprintf("My `%s` call failed:\n\n%s%s", o.name, quote(reason), advice(code)), true
}

func advice(code string) string {
	switch code {
	case "permission_denied":
		return "\n\nThis agent is not allowed to do that; its grants decide."
	case "not_found":
		return "\n\nNothing is at that address."
	case "validation_failed":
		return "\n\nThe call did not fit what the tool accepts; that is my mistake or the wording of the request."
	case "budget_exceeded":
		return "\n\nA budget is used up; whoever owns this agent can raise it."
	case "rate_limited", "unavailable":
		return "\n\nThe same request may work a little later."
	}
	return ""
}
