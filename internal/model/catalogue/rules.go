package catalogue

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loam-agents/loam/internal/model"
)

// The ranges of levels that families share.
var (
	lowToHigh     = []model.ReasoningLevel{model.ReasoningLow, model.ReasoningMedium, model.ReasoningHigh}
	minimalToHigh = []model.ReasoningLevel{model.ReasoningMinimal, model.ReasoningLow, model.ReasoningMedium, model.ReasoningHigh}
	lowToXHigh    = []model.ReasoningLevel{model.ReasoningLow, model.ReasoningMedium, model.ReasoningHigh, model.ReasoningXHigh}
)

// support joins the rules of spec/agents-protocol.md §7.9 with what the list says. For the families of the rules the list only
// adds the levels above high, which newer models have; for all others the list is all there is.
func support(providerType, modelID string, listed model.ReasoningSupport, found bool) (s model.ReasoningSupport, known bool) {
	vendor, bare := providerType, strings.TrimPrefix(modelID, "models/")
	if providerType == model.TypeOpenRouter {
		vendor, bare, _ = strings.Cut(modelID, "/")
		bare, _, _ = strings.Cut(bare, ":")
	}
	var rule func(string) model.ReasoningSupport
	switch vendor {
	case model.TypeOpenAI:
		rule = openAIRule
	case model.TypeAnthropic:
		rule = anthropicRule
	case model.TypeGoogle:
		rule = geminiRule
	default:
		if providerType == model.TypeDeepSeek && len(listed.Levels) > 0 {
			listed.CanBeOff = true
		}
		return clone(listed), found
	}
	s = clone(rule(bare))
	for _, level := range []model.ReasoningLevel{model.ReasoningXHigh, model.ReasoningMax} {
		if len(s.Levels) > 0 && slices.Contains(listed.Levels, level) && !slices.Contains(s.Levels, level) {
			s.Levels = append(s.Levels, level)
		}
	}
	return s, true
}

func clone(s model.ReasoningSupport) model.ReasoningSupport {
	s.Levels = slices.Clone(s.Levels)
	return s
}

var (
	gptID    = regexp.MustCompile(`^gpt-(\d+)(?:\.(\d+))?`)
	oID      = regexp.MustCompile(`^o([134])(?:-|$)`)
	claudeID = regexp.MustCompile(`^claude-(\d+)(?:[-.](\d{1,2}))?(?:-|@|$)`)
	// familyFirst are ids such as claude-sonnet-4-5: every model that is named so thinks.
	familyFirst = regexp.MustCompile(`^claude-(?:[a-z]+)-\d`)
	geminiID    = regexp.MustCompile(`^gemini-(\d+)(?:\.(\d+))?`)
	geminiAlias = regexp.MustCompile(`^gemini-(?:pro|flash|flash-lite)-latest$`)
)

// version compares as a hundredfold number: 5.2 is 502.
func version(match []string) int {
	if match == nil {
		return -1
	}
	major, _ := strconv.Atoi(match[1])
	minor := 0
	if len(match) > 2 {
		minor, _ = strconv.Atoi(match[2])
	}
	return major*100 + minor
}

func openAIRule(id string) model.ReasoningSupport {
	switch v := version(gptID.FindStringSubmatch(id)); {
	case oID.MatchString(id):
		return model.ReasoningSupport{Levels: lowToHigh}
	case v < 500 || strings.HasPrefix(id, "gpt-5-chat"):
		return model.ReasoningSupport{}
	case v == 500:
		return model.ReasoningSupport{Levels: minimalToHigh}
	case v == 501:
		return model.ReasoningSupport{Levels: lowToHigh, CanBeOff: true}
	}
	return model.ReasoningSupport{Levels: lowToXHigh, CanBeOff: true}
}

func anthropicRule(id string) model.ReasoningSupport {
	thinks := familyFirst.MatchString(id) && !strings.HasPrefix(id, "claude-instant")
	if !thinks && version(claudeID.FindStringSubmatch(id)) < 307 {
		return model.ReasoningSupport{}
	}
	return model.ReasoningSupport{Levels: minimalToHigh, CanBeOff: true}
}

func geminiRule(id string) model.ReasoningSupport {
	if !geminiAlias.MatchString(id) && version(geminiID.FindStringSubmatch(id)) < 205 {
		return model.ReasoningSupport{}
	}
	return model.ReasoningSupport{Levels: minimalToHigh, CanBeOff: !strings.Contains(id, "-pro")}
}

var seeing = regexp.MustCompile(`^(?:gpt-4o|gpt-4\.1|gpt-4-turbo|gpt-(?:[5-9]|\d\d)|o1(?:-|$)|o3(?:-|$)|o4-mini|gemini)`)

// seesImages is the rule for models that the list does not have.
func seesImages(id string) bool {
	id = strings.TrimPrefix(id, "models/")
	if i := strings.LastIndexByte(id, '/'); i >= 0 {
		id = id[i+1:]
	}
	thirdOn := version(claudeID.FindStringSubmatch(id)) >= 300 || (familyFirst.MatchString(id) && !strings.HasPrefix(id, "claude-instant"))
	return seeing.MatchString(id) || thirdOn
}
