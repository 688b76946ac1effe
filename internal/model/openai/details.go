package openai

import (
	"bytes"
	"encoding/json"
)

// detailList collects OpenRouter's reasoning_details. Text and summaries arrive in many small entries of one index and are
// joined; everything else, encrypted entries above all, is kept byte for byte.
type detailList struct{ entries []json.RawMessage }

// joined names the field that holds the growing text of an entry type.
var joined = map[string]string{"reasoning.text": "text", "reasoning.summary": "summary"}

func (l *detailList) add(raw json.RawMessage) {
	if n := len(l.entries); n > 0 {
		if merged := mergeDetails(l.entries[n-1], raw); merged != nil {
			l.entries[n-1] = merged
			return
		}
	}
	l.entries = append(l.entries, bytes.Clone(raw))
}

func (l *detailList) encode() json.RawMessage { return encode(l.entries) }

// mergeDetails joins b onto a when they are pieces of one entry; nil otherwise.
func mergeDetails(a, b json.RawMessage) json.RawMessage {
	var old, more map[string]json.RawMessage
	if json.Unmarshal(a, &old) != nil || json.Unmarshal(b, &more) != nil {
		return nil
	}
	var kind string
	_ = json.Unmarshal(more["type"], &kind)
	field, ok := joined[kind]
	if !ok || !bytes.Equal(old["type"], more["type"]) || !bytes.Equal(old["index"], more["index"]) {
		return nil
	}
	var head, tail string
	_ = json.Unmarshal(old[field], &head)
	_ = json.Unmarshal(more[field], &tail)
	for name, value := range more {
		if string(value) != "null" {
			old[name] = value
		}
	}
	old[field] = encode(head + tail)
	return encode(old)
}

// encode cannot fail: it gets strings and JSON that was decoded before. It does not escape HTML.
func encode(v any) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
