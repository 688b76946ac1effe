package model

import "strings"

// The provider types of the wire protocol (spec/agents-protocol.md §7.9).
const (
	TypeOpenAI     = "openai"
	TypeAnthropic  = "anthropic"
	TypeGoogle     = "google"
	TypeOpenRouter = "openrouter"
	TypeDeepSeek   = "deepseek"
	TypeGroq       = "groq"
	TypeXAI        = "xai"
	TypeOllama     = "ollama"
	TypeCustom     = "custom"
)

// DialectOf chooses the dialect for a provider of the type at baseURL. OpenAI's reasoning models speak Responses, since Chat
// loses their reasoning between calls; an Ollama address that ends in /v1 means its OpenAI dialect.
func DialectOf(providerType, baseURL string, reasons bool) Dialect {
	switch providerType {
	case TypeOpenAI:
		if reasons {
			return OpenAIResponses
		}
	case TypeAnthropic:
		return Anthropic
	case TypeGoogle:
		return Gemini
	case TypeOllama:
		if !strings.HasSuffix(strings.TrimRight(baseURL, "/"), "/v1") {
			return Ollama
		}
	}
	return OpenAIChat
}
