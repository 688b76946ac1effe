package hypermediatest

import (
	"testing"

	"github.com/loam-agents/loam/internal/egress"
	"github.com/loam-agents/loam/internal/hypermedia"
)

// Away is the address of a server that nobody runs.
const Away = "http://127.0.0.1:1"

// Client is a client of the server at an address.
func Client(t testing.TB, address string) *hypermedia.Client {
	t.Helper()
	out, err := egress.New(egress.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.Close)
	h, err := out.Operator(address)
	if err != nil {
		t.Fatal(err)
	}
	return hypermedia.New(h, address)
}
