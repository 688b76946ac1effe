package bounded_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/loam-agents/loam/internal/bounded"
)

func TestWhatIsTooLargeIsAnErrorAndNotItsBeginning(t *testing.T) {
	t.Parallel()
	over := errors.New("over")
	tell := func() error { return over }
	for text, want := range map[string]error{"": nil, "1234": nil, "12345": over, strings.Repeat("x", 10_000): over} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "bytewise": iotest.OneByteReader(strings.NewReader(text))} {
			got, err := io.ReadAll(bounded.Reader(r, 4, tell))
			if !errors.Is(err, want) || want == nil && string(got) != text {
				t.Errorf("%d bytes, %s: %q, %v", len(text), name, got, err)
			}
		}
	}
}
