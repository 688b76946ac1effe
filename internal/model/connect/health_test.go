package connect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loam-agents/loam/client"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/scripted"
	"github.com/loam-agents/loam/internal/server"
	"github.com/loam-agents/loam/internal/server/servertest"
	"github.com/loam-agents/loam/wire"
)

// providerNamed is a provider as its account sees it.
func providerNamed(t *testing.T, c *client.Client, name string) wire.ProviderInfo {
	t.Helper()
	out, _, _ := try[wire.ListModelProvidersResponse](t, c, "ListModelProviders", object{})
	for _, p := range out.Providers {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no provider %q", name)
	return wire.ProviderInfo{}
}

func TestAProviderSaysHowItFaredWhenItWasAskedLast(t *testing.T) {
	t.Parallel()
	fake := clock.NewFake(time.Now())
	h := servertest.Start(t, server.Config{Clock: fake})
	m, err := scripted.New(scripted.Options{Script: scripted.Script{Key: "canary-right", Turns: []scripted.Turn{
		{Steps: []scripted.Step{{Text: "Yes."}}}, {Status: 500, ErrorMessage: "no luck with canary-right"}, {Repeat: true, Steps: []scripted.Step{{Text: "Yes."}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	custom := object{"type": "custom", "baseUrl": m.BaseURL(model.OpenAIChat), "secretRefs": object{"apiKey": "key"}}

	// What the configuration lacks is an error of the provider too.
	configure(t, h.Client, "main", custom)
	if p := providerNamed(t, h.Client, "main"); p.LastSuccessAt != 0 || p.LastErrorAt != 0 {
		t.Errorf("one that was never asked fared %+v", p)
	}
	list(t, h.Client, "main")
	if p := providerNamed(t, h.Client, "main"); p.LastErrorAt != fake.Now().UnixMilli() || !strings.Contains(p.LastError, `no secret named "key"`) {
		t.Errorf("without its key it fared %+v", p)
	}
	servertest.Call[wire.SecretResponse](h, "SetSecret", object{"name": "key", "value": []byte("canary-right")})
	list(t, h.Client, "main")
	if p := providerNamed(t, h.Client, "main"); p.LastSuccessAt != fake.Now().UnixMilli() {
		t.Errorf("with its key it fared %+v", p)
	}

	// Turns tell as well; the same news is written once a minute.
	session := h.Session(agentOn(h, "main", "x"))
	asked := fake.Now().UnixMilli()
	fake.Advance(time.Second)
	if _, err := h.Send(session, "one"); err != nil {
		t.Fatal(err)
	}
	if p := providerNamed(t, h.Client, "main"); p.LastSuccessAt != asked {
		t.Errorf("a second answer within a minute is told: %+v", p)
	}
	if _, err := h.Send(session, "two"); err == nil {
		t.Fatal("the turn did not fail")
	}
	p := providerNamed(t, h.Client, "main")
	if p.LastErrorAt != fake.Now().UnixMilli() || !strings.Contains(p.LastError, "HTTP 500") || strings.Contains(p.LastError, "canary") {
		t.Errorf("a failed turn says %+v", p)
	}
	fake.Advance(time.Minute)
	if _, err := h.Send(session, "three"); err != nil {
		t.Fatal(err)
	}
	if p := providerNamed(t, h.Client, "main"); p.LastSuccessAt != fake.Now().UnixMilli() || p.LastErrorAt == 0 {
		t.Errorf("after the answer it fared %+v", p)
	}

	fake.Advance(time.Second)
	configure(t, h.Client, "main", custom)
	if p := providerNamed(t, h.Client, "main"); p.LastSuccessAt != 0 || p.LastErrorAt != 0 || p.LastError != "" {
		t.Errorf("configured anew it fared %+v", p)
	}
	list(t, h.Client, "main")
	if p := providerNamed(t, h.Client, "main"); p.LastSuccessAt != fake.Now().UnixMilli() {
		t.Errorf("news of a new configuration waits: %+v", p)
	}
}
