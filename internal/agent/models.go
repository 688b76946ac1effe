package agent

import (
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
)

// ProviderLookup finds the type of a provider that an account configured; ok is false when there is none.
// provider.Has is one.
type ProviderLookup func(tx store.Tx, account, name string) (providerType string, ok bool, err error)

// ReasoningLevels lists the levels that a model takes, in rising order; none when it takes no level.
type ReasoningLevels func(providerType, model string) []string

// CheckModel checks what a definition, or a session's override, says about its model: the provider must be configured in
// the owner's account and the model must take the level. An empty level is always fine. Errors are fault.Invalid with the
// wire's texts.
func CheckModel(tx store.Tx, account, provider, model, level string, find ProviderLookup, takes ReasoningLevels) error {
	providerType, ok, err := find(tx, account, provider)
	if err != nil {
		return err
	}
	if !ok {
		return fault.Invalid("Model provider not found")
	}
	if level == "" {
		return nil
	}
	if !slices.Contains(levels(), level) {
		return fault.Invalid("Reasoning level is invalid")
	}
	valid := takes(providerType, model)
	switch {
	case len(valid) == 0:
		return fault.Invalid("Model %s does not support a reasoning level", model)
	case !slices.Contains(valid, level):
		return fault.Invalid("Model %s does not support reasoning level '%s' (valid: %s)",
			model, level, strings.Join(valid, ", "))
	}
	return nil
}
