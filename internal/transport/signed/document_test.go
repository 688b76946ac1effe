package signed_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/dagcbor"
	"github.com/loam-agents/loam/internal/operation"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

//go:generate go test -run TestTheDocumentOfTheProtocolIsTrue -update .

var update = flag.Bool("update", false, "write the generated parts of docs/protocol.md instead of comparing them")

func TestTheDocumentOfTheProtocolIsTrue(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "docs", "protocol.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	for name, part := range map[string]string{"actions": actionsTable(), "bytes": workedBytes(t), "versions": versionsTable()} {
		begin, end := "<!-- "+name+": generated -->\n", "<!-- end of "+name+" -->"
		before, rest, ok := strings.Cut(got, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("docs/protocol.md has no part %q", name)
		}
		got = before + begin + "\n" + part + "\n" + end + after
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), got); diff != "" {
		t.Errorf("docs/protocol.md is stale; run `go generate ./internal/transport/signed` (-file +now):\n%s", diff)
	}
}

// actionsTable is the operation table as the protocol's clients see it.
func actionsTable() string {
	var b strings.Builder
	b.WriteString("| action | who | answer | served since Loam |\n|---|---|---|---|\n")
	for _, op := range operation.New(operation.Options{}).Operations() {
		if op.Response == "" {
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", op.Name, op.Access, op.Response, op.Since)
	}
	return b.String()
}

// versionsTable is what older clients get otherwise.
func versionsTable() string {
	var b strings.Builder
	fmt.Fprintf(&b, "This server speaks version %d and admits clients from version %d on.\n\n", wire.ProtocolNumber, wire.MinClientProtocol)
	b.WriteString("| version | what | from this version on | before |\n|---|---|---|---|\n")
	for _, c := range wire.Changes() {
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", c.Since, c.Name, c.Now, c.Before)
	}
	return b.String()
}

// workedBytes is one envelope, step by step.
func workedBytes(t *testing.T) string {
	t.Helper()
	seed := make([]byte, principal.SeedSize)
	for i := range seed {
		seed[i] = byte(i)
	}
	key, err := principal.NewKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	action := map[string]any{"_": "ListAgents", "ts": int64(1750000000123)}
	fields := map[string]any{
		"type": wire.EnvelopeType, "signer": key.ID().Bytes(), "account": key.ID().Bytes(), "action": action,
		"protocol": wire.ProtocolNumber, "sig": make([]byte, 64),
	}
	signing, err := dagcbor.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	body, err := wire.Sign(key, key.ID(), action, wire.SignOptions{Protocol: wire.ProtocolNumber})
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(signing, make([]byte, 64))
	sum := sha256.Sum256(body)
	var b strings.Builder
	for _, part := range []struct{ what, text string }{
		{"seed of the key", hex.EncodeToString(seed)},
		{"principal, binary", hex.EncodeToString(key.ID().Bytes())},
		{"principal, text", key.ID().String()},
		{"bytes to sign, with 64 zero bytes as `sig`", hex.EncodeToString(signing)},
		{"signature over them", hex.EncodeToString(body[at : at+64])},
		{"body of the request", hex.EncodeToString(body)},
		{"SHA-256 of the body", hex.EncodeToString(sum[:])},
	} {
		fmt.Fprintf(&b, "%s:\n\n```\n%s\n```\n\n", part.what, part.text)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
