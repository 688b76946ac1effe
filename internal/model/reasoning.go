package model

import "slices"

// levels are all levels of thinking from least to most.
var levels = []ReasoningLevel{ReasoningMinimal, ReasoningLow, ReasoningMedium, ReasoningHigh, ReasoningXHigh, ReasoningMax}

// ReasoningSupport says how a model can be told to think.
type ReasoningSupport struct {
	// Levels that the model takes, from least to most; empty for models that do not think or cannot be told.
	Levels []ReasoningLevel `json:"levels"`
	// CanBeOff tells whether ReasoningOff means something to the model.
	CanBeOff bool `json:"canBeOff"`
}

// Fit returns the level to ask for instead of want: want itself, or else the nearest level that the model has (the lower one
// of two). ok is false when nothing should be said: want is empty, the model takes no levels, or it cannot be switched off.
func (s ReasoningSupport) Fit(want ReasoningLevel) (level ReasoningLevel, ok bool) {
	switch {
	case want == "" || len(s.Levels) == 0:
		return "", false
	case want == ReasoningOff:
		return want, s.CanBeOff
	case slices.Contains(s.Levels, want):
		return want, true
	}
	at := slices.Index(levels, want)
	if at < 0 {
		return "", false
	}
	for distance := 1; distance < len(levels); distance++ {
		for _, i := range []int{at - distance, at + distance} {
			if i >= 0 && i < len(levels) && slices.Contains(s.Levels, levels[i]) {
				return levels[i], true
			}
		}
	}
	return "", false
}
