package vault_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/loam-agents/loam/internal/vault"
)

func TestASecretShowsItselfOnlyWhenRevealed(t *testing.T) {
	t.Parallel()
	s := vault.NewSecret([]byte("hunter2"))
	holder := struct {
		Key vault.Secret
		Ptr *vault.Secret
	}{s, &s}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T"} {
		fmt.Fprintf(&out, verb+"\n", s)
		fmt.Fprintf(&out, verb+"\n", holder)
	}
	slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "k", s, "h", holder)
	slog.New(slog.NewTextHandler(&out, nil)).Info("m", "k", s, "h", holder)
	if err := json.NewEncoder(&out).Encode(map[string]any{"k": s, "h": holder, "m": map[string]vault.Secret{"x": s}}); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"hunter2", "68756e74657232", "68756E74657232", "104 117", "aHVudGVyMg"} {
		if strings.Contains(out.String(), form) {
			t.Errorf("the value shows as %q in:\n%s", form, out.String())
		}
	}
	if string(s.Reveal()) != "hunter2" || s.Empty() || !(vault.Secret{}).Empty() {
		t.Error("Reveal or Empty is wrong")
	}
}
