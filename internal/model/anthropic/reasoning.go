package anthropic

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/loam-agents/loam/internal/model"
)

// minBudget is the smallest thinking budget that the service takes, in tokens.
const minBudget = 1024

// budgets are the tokens of the levels for models that take a budget.
var budgets = map[model.ReasoningLevel]int{
	model.ReasoningMinimal: minBudget,
	model.ReasoningLow:     4096,
	model.ReasoningMedium:  8192,
	model.ReasoningHigh:    16_384,
	model.ReasoningXHigh:   32_768,
	model.ReasoningMax:     49_152,
}

// style is how a model is told to think.
type style int

const (
	// styleNone: models before 3.7 do not think.
	styleNone style = iota
	// styleBudget: 3.7 to 4.5, and the imitations by other vendors, take a number of tokens.
	styleBudget
	// styleEffort: 4.6 decides by itself within an effort.
	styleEffort
	// styleEffortWide: 4.7 and later know more efforts, refuse budgets and hide their thinking unless asked.
	styleEffortWide
	// styleAlways is styleEffortWide without an off switch.
	styleAlways
)

// versionPattern finds the version in ids of both orders: claude-3-7-sonnet-…, claude-opus-4-6, claude-sonnet-4-20250514.
var versionPattern = regexp.MustCompile(`(?:^|[-.])(\d{1,2})(?:[-.](\d{1,2}))?(?:$|[-.@:])`)

func styleOf(modelID string) style {
	id := strings.ToLower(modelID)
	at := strings.Index(id, "claude")
	if at < 0 {
		return styleBudget
	}
	id = id[at:]
	if strings.Contains(id, "mythos") || strings.Contains(id, "fable") {
		return styleAlways
	}
	found := versionPattern.FindStringSubmatch(id)
	if found == nil {
		return styleNone
	}
	major, _ := strconv.Atoi(found[1])
	minor, _ := strconv.Atoi(found[2])
	switch version := major*100 + minor; {
	case version >= 407:
		return styleEffortWide
	case version == 406:
		return styleEffort
	case version >= 307:
		return styleBudget
	}
	return styleNone
}

// reasoning chooses the thinking fields. An empty level says nothing to the service; off says so where a model would else
// think.
func reasoning(modelID string, level model.ReasoningLevel, maxTokens int, messages []message) (*thinking, *outputConfig) {
	how := styleOf(modelID)
	if level == "" || how == styleNone {
		return nil, nil
	}
	if level == model.ReasoningOff {
		if how == styleAlways {
			return nil, nil
		}
		return &thinking{Type: "disabled"}, nil
	}
	if how == styleBudget {
		return budget(level, maxTokens, messages), nil
	}
	adaptive := &thinking{Type: "adaptive"}
	if how != styleEffort {
		adaptive.Display = "summarized"
	}
	return adaptive, &outputConfig{Effort: effort(modelID, level, how)}
}

// budget leaves at least a quarter of the answer to the answer itself, and nil when that leaves too little to think with.
func budget(level model.ReasoningLevel, maxTokens int, messages []message) *thinking {
	tokens := min(budgets[level], maxTokens*3/4)
	if tokens < minBudget || !resumable(messages) {
		return nil
	}
	return &thinking{Type: "enabled", BudgetTokens: tokens}
}

// resumable tells whether the service accepts thinking now. While calls are being answered, a model with a budget must find
// its thinking at the head of its last message; after a switch of models it is gone, and the request would be refused.
func resumable(messages []message) bool {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != roleAssistant {
			continue
		}
		content := messages[i].Content
		calls := false
		for _, b := range content {
			calls = calls || b.Type == "tool_use"
		}
		return !calls || content[0].raw != nil
	}
	return true
}

func effort(modelID string, level model.ReasoningLevel, how style) string {
	switch level {
	case model.ReasoningMinimal, model.ReasoningLow:
		return "low"
	case model.ReasoningXHigh:
		if how == styleEffort {
			return "high"
		}
	case model.ReasoningMax:
		if how == styleEffort && !strings.Contains(modelID, "opus") {
			return "high"
		}
	}
	return string(level)
}
