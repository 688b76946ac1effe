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

var baseURLs = map[string]string{
	TypeOpenAI:     "https://api.openai.com/v1",
	TypeAnthropic:  "https://api.anthropic.com",
	TypeGoogle:     "https://generativelanguage.googleapis.com/v1beta",
	TypeOpenRouter: "https://openrouter.ai/api/v1",
	TypeDeepSeek:   "https://api.deepseek.com",
	TypeGroq:       "https://api.groq.com/openai/v1",
	TypeXAI:        "https://api.x.ai/v1",
	TypeOllama:     "http://localhost:11434",
}

// DefaultBaseURL is where providers of a type are; empty for custom and unknown types, which must name an address.
func DefaultBaseURL(providerType string) string { return baseURLs[providerType] }

// Pinned tells whether an address stored with a provider of the type is ignored, so that its key cannot be sent elsewhere.
// Only ollama and custom take one.
func Pinned(providerType string) bool {
	return providerType != TypeOllama && providerType != TypeCustom
}

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
