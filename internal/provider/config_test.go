package provider_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/provider"
	"github.com/loam-agents/loam/wire"
)

func TestParseConfigNormalises(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   map[string]any
		want wire.ProviderConfig
	}{
		"a type is enough": {map[string]any{"type": " openai "}, wire.ProviderConfig{Type: "openai"}},
		"everything": {
			map[string]any{
				"type": "custom", "baseUrl": " https://llm.example/v1// ", "authMode": "api-key", "unknown": 1,
				"secretRefs":    map[string]any{"apiKey": " key ", "other": "x"},
				"modelDefaults": map[string]any{"temperature": 0.5, "seed": int64(1)},
			},
			wire.ProviderConfig{
				Type: "custom", BaseURL: "https://llm.example/v1", AuthMode: "api-key",
				SecretRefs:    map[string]string{"apiKey": "key"},
				ModelDefaults: map[string]any{"temperature": 0.5, "seed": int64(1)},
			},
		},
		"nothing is absent": {
			map[string]any{
				"type": "ollama", "baseUrl": " ", "authMode": nil, "secretRefs": map[string]any{}, "modelDefaults": map[string]any{},
			},
			wire.ProviderConfig{Type: "ollama"},
		},
		"a pinned type keeps its address": {
			map[string]any{"type": "groq", "baseUrl": "http://127.0.0.1:1"},
			wire.ProviderConfig{Type: "groq", BaseURL: "http://127.0.0.1:1"},
		},
		"the tutor needs nothing": {map[string]any{"type": "tutor"}, wire.ProviderConfig{Type: "tutor"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := provider.ParseConfig(c.in, false)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("error %v, config (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestParseConfigNamesTheProblem(t *testing.T) {
	t.Parallel()
	const badURL = "Provider base URL is invalid: it must be http(s)://host[:port][/path]"
	custom := func(url any) map[string]any { return map[string]any{"type": "custom", "baseUrl": url} }
	for name, c := range map[string]struct {
		in   map[string]any
		want string
	}{
		"no type":               {nil, "Provider type is required"},
		"type is a number":      {map[string]any{"type": 1}, "Provider type is required"},
		"unknown type":          {map[string]any{"type": "skynet"}, "Provider type is not supported: skynet"},
		"bad auth mode":         {map[string]any{"type": "openai", "authMode": "magic"}, "Provider auth mode is invalid"},
		"auth mode is a list":   {map[string]any{"type": "openai", "authMode": []any{}}, "Provider auth mode is invalid"},
		"subscription":          {map[string]any{"type": "openai", "authMode": "subscription"}, "Subscription sign-in is not enabled on this server"},
		"custom without URL":    {map[string]any{"type": "custom"}, "Provider base URL is required"},
		"custom with blank":     {custom("  "), "Provider base URL is required"},
		"file URL":              {custom("file:///etc/passwd"), badURL},
		"no scheme":             {custom("llm.example/v1"), badURL},
		"no host":               {custom("http://"), badURL},
		"port without host":     {custom("http://:80"), badURL},
		"credentials":           {custom("https://me:pw@llm.example"), badURL},
		"query":                 {custom("https://llm.example/?key=1"), badURL},
		"empty query":           {custom("https://llm.example/?"), badURL},
		"fragment":              {custom("https://llm.example/#x"), badURL},
		"control characters":    {custom("https://llm.example/\x01"), badURL},
		"a NUL":                 {custom("https://llm.example/\x00"), "Provider base URL must not contain a NUL character"},
		"long URL":              {custom("https://llm.example/" + strings.Repeat("x", 2048)), "Provider base URL is too large"},
		"URL is a number":       {custom(7), "Provider base URL is required"},
		"pinned with bad URL":   {map[string]any{"type": "openai", "baseUrl": "nonsense"}, badURL},
		"refs are a list":       {map[string]any{"type": "openai", "secretRefs": []any{}}, "Provider secret references are invalid"},
		"blank secret":          {map[string]any{"type": "openai", "secretRefs": map[string]any{"apiKey": " "}}, "Secret name is required"},
		"long secret":           {map[string]any{"type": "openai", "secretRefs": map[string]any{"apiKey": strings.Repeat("x", 257)}}, "Secret name is too large"},
		"defaults are a text":   {map[string]any{"type": "openai", "modelDefaults": "x"}, "Model defaults are invalid"},
		"defaults with no JSON": {map[string]any{"type": "openai", "modelDefaults": map[string]any{"x": math.Inf(1)}}, "Model defaults are invalid"},
		"large defaults":        {map[string]any{"type": "openai", "modelDefaults": map[string]any{"x": strings.Repeat("x", 16<<10)}}, "Model defaults are too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := provider.ParseConfig(c.in, false)
			if err == nil || err.Error() != c.want || fault.CodeOf(err) != fault.ValidationFailed {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
}

func TestParseName(t *testing.T) {
	t.Parallel()
	if got, err := provider.ParseName(" main "); err != nil || got != "main" {
		t.Errorf("ParseName = %q, %v", got, err)
	}
	for in, want := range map[string]string{" ": "Provider name is required", strings.Repeat("x", 257): "Provider name is too large"} {
		if _, err := provider.ParseName(in); err == nil || err.Error() != want {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
}

func TestResolveDecidesAddressAndClass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg  wire.ProviderConfig
		from provider.Addresses
		want provider.Endpoint
	}{
		"a pinned type": {
			wire.ProviderConfig{Type: "anthropic"}, provider.Addresses{},
			provider.Endpoint{BaseURL: "https://api.anthropic.com", Operator: true},
		},
		"a pinned type ignores what is stored": {
			wire.ProviderConfig{Type: "openai", BaseURL: "https://evil.example"}, provider.Addresses{TrustAccount: true},
			provider.Endpoint{BaseURL: "https://api.openai.com/v1", Operator: true},
		},
		"the operator moves a pinned type": {
			wire.ProviderConfig{Type: "openai", BaseURL: "https://evil.example"},
			provider.Addresses{Overrides: map[string]string{"openai": "http://gateway:1/"}},
			provider.Endpoint{BaseURL: "http://gateway:1", Operator: true},
		},
		"a custom address is the account's": {
			wire.ProviderConfig{Type: "custom", BaseURL: "http://10.0.0.1"}, provider.Addresses{},
			provider.Endpoint{BaseURL: "http://10.0.0.1"},
		},
		"a trusted account counts as the operator": {
			wire.ProviderConfig{Type: "custom", BaseURL: "http://10.0.0.1"}, provider.Addresses{TrustAccount: true},
			provider.Endpoint{BaseURL: "http://10.0.0.1", Operator: true},
		},
		"an account's address beats the operator's default": {
			wire.ProviderConfig{Type: "ollama", BaseURL: "http://10.0.0.1"},
			provider.Addresses{Overrides: map[string]string{"ollama": "http://gpu:11434"}},
			provider.Endpoint{BaseURL: "http://10.0.0.1"},
		},
		"ollama by default": {
			wire.ProviderConfig{Type: "ollama"}, provider.Addresses{},
			provider.Endpoint{BaseURL: "http://localhost:11434", Operator: true},
		},
		"ollama behind /v1 speaks chat completions": {
			wire.ProviderConfig{Type: "ollama", BaseURL: "http://10.0.0.1/v1"}, provider.Addresses{},
			provider.Endpoint{BaseURL: "http://10.0.0.1/v1"},
		},
		"the tutor has no address": {
			wire.ProviderConfig{Type: "tutor", BaseURL: "http://10.0.0.1"}, provider.Addresses{Overrides: map[string]string{"tutor": "http://x"}},
			provider.Endpoint{Operator: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := provider.Resolve(c.cfg, c.from)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("error %v, endpoint (-want +got):\n%s", err, diff)
			}
		})
	}
	for _, cfg := range []wire.ProviderConfig{{Type: "skynet"}, {Type: "custom"}} {
		if _, err := provider.Resolve(cfg, provider.Addresses{}); fault.CodeOf(err) != fault.ValidationFailed {
			t.Errorf("Resolve(%v) = %v", cfg, err)
		}
	}
}

func TestEveryTypeIsComplete(t *testing.T) {
	t.Parallel()
	for _, kind := range provider.Types() {
		found, ok := provider.TypeNamed(kind.Name)
		if !ok || found != kind || kind.Label == "" {
			t.Errorf("type %+v is incomplete", kind)
		}
		if kind.BaseURL == "" && !kind.CustomURL && kind.Name != provider.Tutor {
			t.Errorf("type %s has nowhere to go", kind.Name)
		}
		if kind.NeedsKey && kind.CustomURL {
			t.Errorf("type %s could send its key elsewhere", kind.Name)
		}
	}
}
