package servertest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Till is an MCP server with the tool pay, which keeps what it was given. It stands for everything that must not happen twice.
type Till struct {
	URL string

	mu     sync.Mutex
	paid   []string
	during func()
}

// NewTill starts a till for as long as the test runs.
func NewTill(t testing.TB) *Till {
	t.Helper()
	p := &Till{}
	s := sdk.NewServer(&sdk.Implementation{Name: "till", Version: "1"}, nil)
	s.AddTool(&sdk.Tool{Name: "pay", Description: "Pays somebody.", InputSchema: map[string]any{"type": "object"}},
		func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			p.pay(string(req.Params.Arguments))
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "paid"}}}, nil
		})
	h := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	p.URL = h.URL
	return p
}

func (p *Till) pay(arguments string) {
	p.mu.Lock()
	p.paid = append(p.paid, arguments)
	during := p.during
	p.during = nil
	p.mu.Unlock()
	if during != nil {
		during()
	}
}

// Paid are the arguments of all payments, in their order.
func (p *Till) Paid() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.paid)
}

// During calls f in the middle of the next payment: it is made, and not answered before f returns.
func (p *Till) During(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.during = f
}
