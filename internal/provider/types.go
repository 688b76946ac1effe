package provider

// Type describes a kind of provider (spec/agents-protocol.md §7.9).
type Type struct {
	// Name is the value of ProviderConfig.Type; Label is for people.
	Name, Label string
	// BaseURL is where requests go by default; empty when the account has to say.
	BaseURL string
	// NeedsKey says that requests without an API key are not worth sending.
	NeedsKey bool
	// CustomURL says that the account may choose the address. For all other types a stored address is ignored, so that a
	// key cannot be sent elsewhere.
	CustomURL bool
	// Subscription says that a person can sign in to the service instead of having a key.
	Subscription bool
}

// The names of types that code treats specially.
const (
	// Tutor is the deterministic model inside the binary. It has no address and no key.
	Tutor = "tutor"
	// Ollama is a local model server.
	Ollama = "ollama"
	// Custom is any service that speaks chat completions.
	Custom = "custom"
)

// Types lists what a provider can be, in the order to show it.
func Types() []Type {
	return []Type{
		{Name: "openai", Label: "OpenAI", BaseURL: "https://api.openai.com/v1", NeedsKey: true, Subscription: true},
		{Name: "anthropic", Label: "Anthropic", BaseURL: "https://api.anthropic.com", NeedsKey: true},
		{Name: "google", Label: "Google", BaseURL: "https://generativelanguage.googleapis.com/v1beta", NeedsKey: true},
		{Name: "openrouter", Label: "OpenRouter", BaseURL: "https://openrouter.ai/api/v1", NeedsKey: true},
		{Name: "deepseek", Label: "DeepSeek", BaseURL: "https://api.deepseek.com", NeedsKey: true},
		{Name: "groq", Label: "Groq", BaseURL: "https://api.groq.com/openai/v1", NeedsKey: true},
		{Name: "xai", Label: "xAI", BaseURL: "https://api.x.ai/v1", NeedsKey: true},
		{Name: Ollama, Label: "Ollama", BaseURL: "http://localhost:11434", CustomURL: true},
		{Name: Custom, Label: "OpenAI-compatible", CustomURL: true},
		{Name: Tutor, Label: "Tutor"},
	}
}

// TypeNamed finds a type by its name.
func TypeNamed(name string) (Type, bool) {
	for _, t := range Types() {
		if t.Name == name {
			return t, true
		}
	}
	return Type{}, false
}
