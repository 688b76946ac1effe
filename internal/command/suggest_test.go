package command

import "testing"

func TestAHintNamesTheNearestCandidateAndNoneThatIsFar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		candidates []string
		want       string
	}{
		{"Asistant", []string{"Scribe", "Assistant"}, ` (did you mean "Assistant"?)`},
		{"assistant", []string{"Assistant"}, ` (did you mean "Assistant"?)`},
		{"raed", []string{"write", "read"}, ` (did you mean "read"?)`},
		{"runing", []string{"queued", "running"}, ` (did you mean "running"?)`},
		{"zzz", []string{"Assistant", "Scribe"}, ""},
		{"x", []string{"y"}, ""},
		{"", []string{"Assistant"}, ""},
		{"grün", []string{"grüne"}, ` (did you mean "grüne"?)`},
		{"tea", nil, ""},
	} {
		if got := didYouMean(c.name, c.candidates); got != c.want {
			t.Errorf("didYouMean(%q, %q) = %q, want %q", c.name, c.candidates, got, c.want)
		}
	}
}
