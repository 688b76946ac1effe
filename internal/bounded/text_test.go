package bounded_test

import (
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
)

func TestATextIsTrimmedRequiredAndBoundedInBytes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value      any
		want, fail string
	}{
		"trimmed":       {" \tname\n", "name", ""},
		"at the limit":  {strings.Repeat("é", 4), strings.Repeat("é", 4), ""},
		"over it":       {strings.Repeat("é", 4) + "x", "", "Label is too large"},
		"empty":         {"", "", "Label is required"},
		"blank":         {" \n", "", "Label is required"},
		"absent":        {nil, "", "Label is required"},
		"no text":       {int64(7), "", "Label is required"},
		"with a NUL":    {"a\x00b", "", "Label must not contain a NUL character"},
		"inner space":   {"a b", "a b", ""},
		"trimmed first": {strings.Repeat(" ", 99) + "x", "x", ""},
	} {
		got, err := bounded.Text(c.value, "Label", 8)
		if got != c.want || (err == nil) != (c.fail == "") || err != nil && err.Error() != c.fail {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err != nil && fault.CodeOf(err) != fault.ValidationFailed {
			t.Errorf("%s: code %s", name, fault.CodeOf(err))
		}
	}
	_, err := bounded.Text("123456789", "Label", 8)
	if limit := fault.From(err).Details["limit"]; limit != 8 {
		t.Errorf("the error carries the limit %v", limit)
	}
}
