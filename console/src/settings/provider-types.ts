// The kinds of providers, as the server knows them (internal/provider).

export interface ProviderType {
  name: string;
  label: string;
  /** Requests without a key are not worth sending. */
  needsKey: boolean;
  /** The account says where it is. */
  customUrl: boolean;
  /** An example or default of the address. */
  url?: string;
}

export const providerTypes: readonly ProviderType[] = [
  { name: "anthropic", label: "Anthropic", needsKey: true, customUrl: false },
  { name: "openai", label: "OpenAI", needsKey: true, customUrl: false },
  { name: "google", label: "Google", needsKey: true, customUrl: false },
  { name: "openrouter", label: "OpenRouter", needsKey: true, customUrl: false },
  { name: "deepseek", label: "DeepSeek", needsKey: true, customUrl: false },
  { name: "groq", label: "Groq", needsKey: true, customUrl: false },
  { name: "xai", label: "xAI", needsKey: true, customUrl: false },
  { name: "ollama", label: "Ollama", needsKey: false, customUrl: true, url: "http://localhost:11434" },
  { name: "custom", label: "OpenAI-compatible", needsKey: false, customUrl: true, url: "http://localhost:8000/v1" },
  { name: "tutor", label: "Tutor", needsKey: false, customUrl: false },
];

export const typeNamed = (name: string): ProviderType | undefined => providerTypes.find((type) => type.name === name);
