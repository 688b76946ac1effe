package openai

import "github.com/loam-agents/loam/internal/model"

// Quirks are the differences between services that speak Chat Completions. The zero value is the common ground that an
// unknown server most likely understands.
type Quirks struct {
	// MaxTokensField names the field that bounds the answer; empty is "max_tokens", the older name.
	MaxTokensField string
	// ReasoningObject sends {"reasoning": {"effort": …}} (OpenRouter) instead of "reasoning_effort".
	ReasoningObject bool
	// Thinking adds {"thinking": {"type": "enabled" or "disabled"}} and knows the efforts low, high and max only (DeepSeek).
	Thinking bool
	// CacheKey sends prompt_cache_key, which routes a conversation to the machine that holds its prefix.
	CacheKey bool
	// Replay names the field of hidden reasoning that goes back with an assistant message: ReplayContent,
	// ReplayDetails, or nothing.
	Replay string
}

// The fields of hidden reasoning that a service wants back.
const (
	// ReplayContent is DeepSeek's: every message with tool calls must carry it while thinking is on, even when it is empty.
	ReplayContent = "reasoning_content"
	// ReplayDetails is OpenRouter's: a list of blocks, kept in order.
	ReplayDetails = "reasoning_details"
)

// QuirksOf returns the quirks of a provider type of the wire protocol.
func QuirksOf(providerType string) Quirks {
	switch providerType {
	case model.TypeOpenAI:
		return Quirks{MaxTokensField: "max_completion_tokens", CacheKey: true}
	case model.TypeOpenRouter:
		return Quirks{ReasoningObject: true, Replay: ReplayDetails}
	case model.TypeDeepSeek:
		return Quirks{Thinking: true, Replay: ReplayContent}
	case model.TypeGroq, model.TypeXAI:
		return Quirks{MaxTokensField: "max_completion_tokens"}
	}
	return Quirks{}
}

// deepSeekEffort maps a level to one that the service has.
func deepSeekEffort(l model.ReasoningLevel) string {
	switch l {
	case model.ReasoningMinimal, model.ReasoningLow:
		return "low"
	case model.ReasoningMax:
		return "max"
	}
	return "high"
}

// effort is OpenAI's word for a level.
func effort(l model.ReasoningLevel) string {
	if l == model.ReasoningOff {
		return "none"
	}
	return string(l)
}
