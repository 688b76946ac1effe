package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/model"
)

func TestFitTakesTheNearestLevelThatTheModelHas(t *testing.T) {
	t.Parallel()
	low := model.ReasoningSupport{Levels: []model.ReasoningLevel{model.ReasoningLow, model.ReasoningMedium, model.ReasoningHigh}}
	off := model.ReasoningSupport{Levels: []model.ReasoningLevel{model.ReasoningHigh, model.ReasoningMax}, CanBeOff: true}
	for _, c := range []struct {
		support model.ReasoningSupport
		want    model.ReasoningLevel
		level   model.ReasoningLevel
		ok      bool
	}{
		{low, "", "", false},
		{low, model.ReasoningMedium, model.ReasoningMedium, true},
		{low, model.ReasoningMinimal, model.ReasoningLow, true},
		{low, model.ReasoningMax, model.ReasoningHigh, true},
		{low, model.ReasoningOff, model.ReasoningOff, false},
		{low, "huge", "", false},
		{off, model.ReasoningOff, model.ReasoningOff, true},
		{off, model.ReasoningLow, model.ReasoningHigh, true},
		{off, model.ReasoningXHigh, model.ReasoningHigh, true},
		{model.ReasoningSupport{CanBeOff: true}, model.ReasoningHigh, "", false},
		{model.ReasoningSupport{CanBeOff: true}, model.ReasoningOff, "", false},
	} {
		if level, ok := c.support.Fit(c.want); level != c.level && ok || ok != c.ok {
			t.Errorf("%v %q: %q %v", c.support, c.want, level, ok)
		}
	}
}

func TestDialectOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, base string
		reasons    bool
		want       model.Dialect
	}{
		{model.TypeOpenAI, "", true, model.OpenAIResponses},
		{model.TypeOpenAI, "", false, model.OpenAIChat},
		{model.TypeAnthropic, "", true, model.Anthropic},
		{model.TypeGoogle, "", true, model.Gemini},
		{model.TypeOpenRouter, "", true, model.OpenAIChat},
		{model.TypeDeepSeek, "", true, model.OpenAIChat},
		{model.TypeGroq, "", false, model.OpenAIChat},
		{model.TypeXAI, "", true, model.OpenAIChat},
		{model.TypeOllama, "http://localhost:11434", false, model.Ollama},
		{model.TypeOllama, "http://localhost:11434/v1/", false, model.OpenAIChat},
		{model.TypeCustom, "http://gateway", true, model.OpenAIChat},
	} {
		if got := model.DialectOf(c.kind, c.base, c.reasons); got != c.want {
			t.Errorf("%s %s %v: %s", c.kind, c.base, c.reasons, got)
		}
	}
}

func TestAMessageSurvivesJSON(t *testing.T) {
	t.Parallel()
	want := model.Message{Role: model.Assistant, Parts: []model.Part{
		{Kind: model.PartOpaque, Opaque: &model.Opaque{Dialect: model.Anthropic, Model: "m", Block: json.RawMessage(`{"a":"b"}`)}},
		{Kind: model.PartText, Text: "<b> & \u2028"},
		{Kind: model.PartToolCall, CallID: "1", Name: "read", Arguments: `{"broken`},
		{Kind: model.PartImage, MIMEType: "image/png", Data: []byte{0, 255}},
	}}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got model.Message
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCanBeRetried(t *testing.T) {
	t.Parallel()
	final := []model.ErrorKind{model.ErrContextTooLong, model.ErrBadKey, model.ErrBadRequest, model.ErrCanceled}
	again := []model.ErrorKind{
		model.ErrRateLimited, model.ErrOverloaded, model.ErrServer, model.ErrStreamCut, model.ErrUnreachable, model.ErrInvalidResponse,
		model.ErrEmptyAnswer,
	}
	for want, kinds := range map[bool][]model.ErrorKind{false: final, true: again} {
		for _, k := range kinds {
			cause := errors.New("cause")
			err := fmt.Errorf("wrapped: %w", &model.Error{Kind: k, Err: cause})
			e, ok := model.AsError(err)
			if !ok || e.Retryable() != want || !errors.Is(err, cause) || e.Error() == "" {
				t.Errorf("%s: %v %v", k, e, ok)
			}
		}
	}
}

func TestUsageAdds(t *testing.T) {
	t.Parallel()
	got := model.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Total: 10}.Add(model.Usage{Input: 10, Output: 20, CacheRead: 30, CacheWrite: 40, Total: 100})
	if want := (model.Usage{Input: 11, Output: 22, CacheRead: 33, CacheWrite: 44, Total: 110}); got != want {
		t.Errorf("got %+v", got)
	}
}
