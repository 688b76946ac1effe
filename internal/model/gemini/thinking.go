package gemini

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/loam-agents/loam/internal/model"
)

// budgets are the tokens of the levels for models that take a budget. The service's limits are 24,576 for flash and 32,768
// for pro.
var budgets = map[model.ReasoningLevel]int{
	model.ReasoningMinimal: 512,
	model.ReasoningLow:     2048,
	model.ReasoningMedium:  8192,
	model.ReasoningHigh:    16_384,
	model.ReasoningXHigh:   24_576,
	model.ReasoningMax:     24_576,
}

// minProBudget is the smallest budget of a pro model, which cannot stop thinking.
const minProBudget = 128

var versionPattern = regexp.MustCompile(`gemini-(\d+)(?:\.(\d+))?`)

// thinking chooses the thinking configuration; nil says nothing to the service. Models before 2.5 do not think, 2.5 takes a
// budget, 3 and later take a level. Pro models cannot be turned off and get the least there is.
func thinking(modelID string, level model.ReasoningLevel) *thinkingConfig {
	if level == "" {
		return nil
	}
	major, minor := version(modelID)
	pro := !strings.Contains(strings.ToLower(modelID), "flash")
	switch {
	case major >= 3:
		return byLevel(level, pro)
	case major == 2 && minor >= 5:
		return byBudget(level, pro)
	}
	return nil
}

// version is zero for ids that name none.
func version(modelID string) (major, minor int) {
	found := versionPattern.FindStringSubmatch(strings.ToLower(modelID))
	if found == nil {
		return 0, 0
	}
	major, _ = strconv.Atoi(found[1])
	minor, _ = strconv.Atoi(found[2])
	return major, minor
}

// requiresSignatures tells whether the model refuses calls without a thought signature.
func requiresSignatures(modelID string) bool {
	major, _ := version(modelID)
	return major >= 3
}

func byBudget(level model.ReasoningLevel, pro bool) *thinkingConfig {
	tokens := budgets[level]
	if level == model.ReasoningOff {
		if pro {
			tokens = minProBudget
		}
		return &thinkingConfig{ThinkingBudget: &tokens}
	}
	return &thinkingConfig{IncludeThoughts: true, ThinkingBudget: &tokens}
}

// byLevel: flash knows minimal to high, pro only low and high. No level is off; the least is what comes nearest.
func byLevel(level model.ReasoningLevel, pro bool) *thinkingConfig {
	name := "high"
	switch level {
	case model.ReasoningOff, model.ReasoningMinimal:
		name = "minimal"
		if pro {
			name = "low"
		}
	case model.ReasoningLow:
		name = "low"
	case model.ReasoningMedium:
		if !pro {
			name = "medium"
		}
	}
	return &thinkingConfig{IncludeThoughts: level != model.ReasoningOff, ThinkingLevel: name}
}
