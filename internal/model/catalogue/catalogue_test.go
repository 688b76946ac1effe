package catalogue_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/catalogue"
)

func open(t testing.TB, file string) *catalogue.Catalogue {
	t.Helper()
	path := ""
	if file != "" {
		path = filepath.Join(t.TempDir(), "models.json")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := catalogue.New(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReasoningLevelsOfEachFamily(t *testing.T) {
	t.Parallel()
	c := open(t, "")
	const lowHigh, minHigh, lowXHigh = "low medium high", "minimal low medium high", "low medium high xhigh"
	for _, w := range []struct {
		kind, id, levels string
		off, known       bool
	}{
		{model.TypeOpenAI, "o1", lowHigh, false, true},
		{model.TypeOpenAI, "o3-mini", lowHigh, false, true},
		{model.TypeOpenAI, "o4-mini-2025-04-16", lowHigh, false, true},
		{model.TypeOpenAI, "gpt-5", minHigh, false, true},
		{model.TypeOpenAI, "gpt-5-mini-2025-08-07", minHigh, false, true},
		{model.TypeOpenAI, "gpt-5-chat-latest", "", false, true},
		{model.TypeOpenAI, "gpt-5.1-codex", lowHigh, true, true},
		{model.TypeOpenAI, "gpt-5.2", lowXHigh, true, true},
		{model.TypeOpenAI, "gpt-5.5", lowXHigh, true, true},
		{model.TypeOpenAI, "gpt-5.6-sol", lowXHigh + " max", true, true},
		{model.TypeOpenAI, "gpt-6", lowXHigh, true, true},
		{model.TypeOpenAI, "gpt-4o", "", false, true},
		{model.TypeOpenAI, "o2", "", false, true},
		{model.TypeOpenAI, "text-embedding-3-small", "", false, true},
		{model.TypeAnthropic, "claude-3-5-sonnet-20241022", "", false, true},
		{model.TypeAnthropic, "claude-3-7-sonnet-20250219", minHigh, true, true},
		{model.TypeAnthropic, "claude-sonnet-4-5", minHigh, true, true},
		{model.TypeAnthropic, "claude-opus-5", minHigh + " xhigh max", true, true},
		{model.TypeAnthropic, "claude-opus-4-6", minHigh + " max", true, true},
		{model.TypeAnthropic, "claude-novella-9", minHigh, true, true},
		{model.TypeAnthropic, "claude-instant-1.2", "", false, true},
		{model.TypeAnthropic, "claude-3-haiku-20240307", "", false, true},
		{model.TypeGoogle, "gemini-2.0-flash", "", false, true},
		{model.TypeGoogle, "gemini-2.5-flash", minHigh, true, true},
		{model.TypeGoogle, "models/gemini-2.5-pro", minHigh, false, true},
		{model.TypeGoogle, "gemini-3-pro-preview", minHigh, false, true},
		{model.TypeGoogle, "gemini-flash-latest", minHigh, true, true},
		{model.TypeOpenRouter, "anthropic/claude-sonnet-4.5", minHigh, true, true},
		{model.TypeOpenRouter, "openai/gpt-5.1:nitro", lowHigh, true, true},
		{model.TypeOpenRouter, "google/gemini-2.5-pro", minHigh, false, true},
		{model.TypeOpenRouter, "aion-labs/aion-3.0", lowHigh, false, true},
		{model.TypeOpenRouter, "nobody/knows", "", false, false},
		{model.TypeDeepSeek, "deepseek-v4-pro", "low high max", true, true},
		{model.TypeXAI, "grok-4.5", lowHigh, false, true},
		{model.TypeXAI, "grok-4.3", "", false, true},
		{model.TypeCustom, "gpt-5", "", false, false},
		{model.TypeOllama, "qwen3", "", false, false},
	} {
		s, known := c.Reasoning(w.kind, w.id)
		levels := strings.Trim(fmt.Sprint(s.Levels), "[]")
		if levels != w.levels || s.CanBeOff != w.off || known != w.known {
			t.Errorf("%s %s: %q off %v known %v", w.kind, w.id, levels, s.CanBeOff, known)
		}
		if diff := cmp.Diff(s, c.Lookup(w.kind, w.id).Reasoning); diff != "" {
			t.Errorf("%s %s: Lookup differs: %s", w.kind, w.id, diff)
		}
	}
}

func TestImagesOfEachFamily(t *testing.T) {
	t.Parallel()
	c := open(t, "")
	for id, want := range map[string]bool{
		"gpt-4o": true, "gpt-4.1-nano": true, "gpt-4-turbo": true, "gpt-5": true, "gpt-12": true, "o1": true, "o3-pro": true, "o4-mini": true,
		"claude-3-opus": true, "claude-sonnet-9": true, "gemini-1.5-pro": true, "anthropic/claude-sonnet-9": true, "models/gemini-9": true,
		"gpt-4": false, "gpt-3.5-turbo": false, "o2": false, "claude-2.1": false, "claude-instant-1.2": false, "llama-4": false, "o4": false, "gpt-oss-120b": false,
	} {
		if got := c.Lookup(model.TypeCustom, id).Images; got != want {
			t.Errorf("%s: %v", id, got)
		}
	}
	if c.Lookup(model.TypeDeepSeek, "deepseek-v4-pro").Images {
		t.Error("the list says that deepseek-v4-pro sees nothing")
	}
}

func TestAnUnknownModelHasTheProtocolsDefaultsAndNoPrice(t *testing.T) {
	t.Parallel()
	want := catalogue.Model{ID: "x", Name: "x", ContextWindow: 128_000, MaxOutput: 16_384}
	c := open(t, "")
	for _, kind := range []string{model.TypeOpenAI, model.TypeCustom, "nonsense"} {
		got := c.Lookup(kind, "x")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
		if _, known := got.Cost(model.Usage{Input: 1}); known {
			t.Errorf("%s: the cost of an unknown model is known", kind)
		}
	}
	if micros, known := c.Lookup(model.TypeOllama, "x").Cost(model.Usage{Input: 1e6}); micros != 0 || !known {
		t.Errorf("a local model costs %d, known %v", micros, known)
	}
}

func TestModelsAreFoundWithAndWithoutTheirDate(t *testing.T) {
	t.Parallel()
	c := open(t, "")
	for kind, ids := range map[string][]string{
		model.TypeAnthropic:  {"claude-sonnet-4-5", "claude-sonnet-4-5-20250929"},
		model.TypeOpenAI:     {"gpt-4o", "gpt-4o-2024-08-06"},
		model.TypeGoogle:     {"gemini-2.5-pro", "models/gemini-2.5-pro"},
		model.TypeOpenRouter: {"anthropic/claude-sonnet-4.5", "anthropic/claude-sonnet-4.5:nitro"},
	} {
		for _, id := range ids {
			if m := c.Lookup(kind, id); !m.Known || m.ID != id || m.Name == id {
				t.Errorf("%s %s: %+v", kind, id, m)
			}
		}
	}
	nitro := c.Lookup(model.TypeOpenRouter, "anthropic/claude-sonnet-4.5:nitro")
	if nitro.Price != nil {
		t.Errorf("the price of a routing variant is known: %v", nitro.Price)
	}
	if free := c.Lookup(model.TypeOpenRouter, "anthropic/claude-sonnet-4.5:free"); free.Price == nil || *free.Price != (catalogue.Price{}) {
		t.Errorf("free costs %v", free.Price)
	}
}

func TestPricesAreReadWhereverTheListHasThem(t *testing.T) {
	t.Parallel()
	c := open(t, "")
	for id, want := range map[string]catalogue.Price{
		"claude-sonnet-4-5": {Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75},
		"gpt-4o":            {Input: 2.5, Output: 10, CacheRead: 1.25, CacheWrite: 2.5},
		"gpt-5":             {Input: 1.25, Output: 10, CacheRead: 0.125, CacheWrite: 1.25},
		"gpt-5.5":           {Input: 5, Output: 30, CacheRead: 0.5, CacheWrite: 5},
		"gpt-5.6-sol":       {Input: 5, Output: 30, CacheRead: 0.5, CacheWrite: 6.25},
		"gpt-5.5-pro":       {Input: 30, Output: 180, CacheRead: 30, CacheWrite: 30},
		"gemini-3.7-flash":  {Input: 0.75, Output: 3.75, CacheRead: 0.075, CacheWrite: 0.75},
		"deepseek-v4-flash": {Input: 0.14, Output: 0.28, CacheRead: 0.0028, CacheWrite: 0.14},
	} {
		kind := map[string]string{"clau": model.TypeAnthropic, "gemi": model.TypeGoogle, "deep": model.TypeDeepSeek}[id[:4]]
		if kind == "" {
			kind = model.TypeOpenAI
		}
		if got := c.Lookup(kind, id).Price; got == nil || *got != want {
			t.Errorf("%s: %+v", id, got)
		}
	}
}

func TestEveryListedModelMakesSense(t *testing.T) {
	t.Parallel()
	c := open(t, "")
	for _, kind := range []string{model.TypeOpenAI, model.TypeAnthropic, model.TypeGoogle, model.TypeOpenRouter, model.TypeDeepSeek, model.TypeGroq, model.TypeXAI} {
		list := c.List(kind)
		if len(list) == 0 {
			t.Errorf("%s: no models", kind)
		}
		if d := c.Default(kind); d == "" || !c.Lookup(kind, d).Known {
			t.Errorf("%s: default %q", kind, d)
		}
		for _, m := range list {
			if m.ID == "" || m.Name == "" || m.ContextWindow <= 0 || m.MaxOutput <= 0 || !m.Known {
				t.Errorf("%s: %+v", kind, m)
			}
			if p := m.Price; p != nil && (p.CacheRead < 0 || p.CacheRead > p.Input || p.CacheWrite < p.Input) {
				t.Errorf("%s %s: %+v", kind, m.ID, *p)
			}
		}
	}
	if c.List("nonsense") != nil || c.Default("nonsense") != "" {
		t.Error("an unknown type has models")
	}
}

func TestCostCountsEachKindOfToken(t *testing.T) {
	t.Parallel()
	m := catalogue.Model{Price: &catalogue.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}}
	micros, known := m.Cost(model.Usage{Input: 1000, Output: 100, CacheRead: 10_000, CacheWrite: 200})
	if !known || micros != 3000+1500+3000+750 {
		t.Errorf("%d %v", micros, known)
	}
}

func TestAFileOverridesSingleFields(t *testing.T) {
	t.Parallel()
	c := open(t, `{"models":[
		{"provider":"openai","id":"gpt-4o","contextWindow":1000},
		{"provider":"*","id":"mine","name":"Mine","maxOutput":5,"images":true,"reasoning":{"levels":["high"],"canBeOff":true},"price":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0}},
		{"provider":"custom","id":"mine","maxOutput":7}
	]}`)
	base := open(t, "").Lookup(model.TypeOpenAI, "gpt-4o")
	base.ContextWindow = 1000
	if diff := cmp.Diff(base, c.Lookup(model.TypeOpenAI, "gpt-4o")); diff != "" {
		t.Error(diff)
	}
	want := catalogue.Model{
		ID: "mine", Name: "Mine", ContextWindow: 128_000, MaxOutput: 7, Images: true, Known: true, Price: &catalogue.Price{Input: 1, Output: 2},
		Reasoning: model.ReasoningSupport{Levels: []model.ReasoningLevel{model.ReasoningHigh}, CanBeOff: true},
	}
	if diff := cmp.Diff(want, c.Lookup(model.TypeCustom, "mine")); diff != "" {
		t.Error(diff)
	}
	if s, known := c.Reasoning(model.TypeCustom, "mine"); !known || !s.CanBeOff {
		t.Errorf("%v %v", s, known)
	}
	if got := c.Lookup(model.TypeXAI, "mine").MaxOutput; got != 5 {
		t.Errorf("any provider: %d", got)
	}
}

func TestABadFileIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		`{`: "not valid",
		`{"models":[{"provider":"openai","id":"x","contextwindow_":1}]}`: "contextwindow_",
		`{"models":[{"id":"x"}]}`:                                   "needs provider and id",
		`{"models":[{"provider":"openai","id":"x","maxOutput":0}]}`: "maxOutput",
		`{"models":[{"provider":"openai","id":"x","price":{"input":-1,"output":0,"cacheRead":0,"cacheWrite":0}}]}`: "negative",
	} {
		path := filepath.Join(t.TempDir(), "models.json")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := catalogue.New(path)
		if fault.CodeOf(err) != fault.ValidationFailed || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := catalogue.New(filepath.Join(t.TempDir(), "absent.json")); fault.CodeOf(err) != fault.ValidationFailed {
		t.Errorf("absent: %v", err)
	}
}

// BenchmarkNew is what a server's start pays, BenchmarkFirstLookup what its first question pays.
func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		open(b, "")
	}
}

func BenchmarkFirstLookup(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := make([]*catalogue.Catalogue, 0, 1<<10)
	for b.Loop() {
		c := open(b, "")
		c.Lookup(model.TypeOpenAI, "gpt-4o")
		kept = append(kept, c)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(kept)), "kept-B")
	runtime.KeepAlive(kept)
}
