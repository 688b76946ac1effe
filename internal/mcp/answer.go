package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loam-agents/loam/internal/fence"
)

// Answer is the result of a call.
type Answer struct {
	// Text is what the tool returned, cut at MaxResult and fenced; empty when it returned nothing.
	Text string
	// Truncated says that there was more. IsError says that the tool reported a failure, in Text.
	Truncated, IsError bool
}

// answer joins the parts of a result. Texts are taken as they are; of pictures, sound and links only a line is left. Structured content
// is taken when there is no text.
func answer(server, tool string, r *sdk.CallToolResult) Answer {
	out := Answer{IsError: r.IsError}
	var b strings.Builder
	for _, part := range r.Content {
		if b.Len() > MaxResult {
			break
		}
		line := partText(part)
		if line == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	if b.Len() == 0 && r.StructuredContent != nil {
		if structured, err := json.Marshal(r.StructuredContent); err == nil {
			b.Write(structured)
		}
	}
	joined := strings.ReplaceAll(strings.ToValidUTF8(b.String(), "\uFFFD"), "\x00", "")
	if len(joined) > MaxResult {
		joined, out.Truncated = strings.ToValidUTF8(joined[:MaxResult], ""), true
	}
	out.Text = fence.Outside(server+" MCP · "+tool, joined)
	return out
}

func partText(part sdk.Content) string {
	switch p := part.(type) {
	case *sdk.TextContent:
		return p.Text
	case *sdk.ImageContent:
		return fmt.Sprintf("[image, %.100s, %d bytes]", p.MIMEType, len(p.Data))
	case *sdk.AudioContent:
		return fmt.Sprintf("[audio, %.100s, %d bytes]", p.MIMEType, len(p.Data))
	case *sdk.ResourceLink:
		return fmt.Sprintf("[resource %.500s %.2000s]", p.Name, p.URI)
	case *sdk.EmbeddedResource:
		if p.Resource == nil {
			return ""
		}
		if p.Resource.Text != "" {
			return p.Resource.Text
		}
		return fmt.Sprintf("[resource %.2000s, %.100s, %d bytes]", p.Resource.URI, p.Resource.MIMEType, len(p.Resource.Blob))
	}
	return ""
}
