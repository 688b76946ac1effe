package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/loam-agents/loam/internal/account"
	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/model"
	"github.com/loam-agents/loam/internal/model/ollama"
	"github.com/loam-agents/loam/internal/provider"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// OwnerKeyFile is the server owner's key inside the data directory.
const OwnerKeyFile = "owner.key"

// OwnerKey reads the server owner's key of a data directory.
func OwnerKey(dataDir string) (*principal.Key, error) {
	return principal.LoadKey(filepath.Join(dataDir, OwnerKeyFile))
}

// bootstrap makes the server owner and an agent to talk to, once. On later starts it reads who the owner is, and gives agents what later
// versions give to new ones.
func (s *Server) bootstrap(ctx context.Context) error {
	var owner string
	var known bool
	err := s.store.Read(ctx, func(tx store.Tx) (err error) {
		owner, known, err = account.Owner(tx)
		return err
	})
	if err != nil {
		return err
	}
	if known {
		s.warnOfKeys()
		if s.owner, err = principal.ParseID(owner); err != nil {
			return err
		}
		return s.triggers.GiveMentions(ctx)
	}
	key, err := s.ownerKey()
	if err != nil {
		return err
	}
	s.owner, s.first = key.ID(), true
	first := s.firstModel(ctx)
	return s.store.Write(ctx, store.Interactive, func(tx store.Tx) error { return s.found(tx, first) })
}

// warnOfKeys says at a start what doctor would call broken: the server works all the same.
func (s *Server) warnOfKeys() {
	if info, err := os.Stat(s.cfg.DataDir); err == nil && info.Mode().Perm()&0o077 != 0 {
		s.cfg.Logger.Warn("other users may look into the data folder: chmod 700", "data", s.cfg.DataDir, "mode", info.Mode().Perm().String())
	}
	if _, err := OwnerKey(s.cfg.DataDir); err != nil {
		s.cfg.Logger.Warn("the owner's key of this data folder cannot be used: loam doctor says more", "error", err)
	}
}

// ownerKey is the key of a first start: one that an interrupted first start left, or a new one.
func (s *Server) ownerKey() (*principal.Key, error) {
	path := filepath.Join(s.cfg.DataDir, OwnerKeyFile)
	key, err := principal.LoadKey(path)
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return key, err
	}
	if key, err = principal.Generate(nil); err != nil {
		return nil, err
	}
	if err := principal.SaveKey(path, key); err != nil {
		return nil, fmt.Errorf("save the owner's key: %w", err)
	}
	return key, nil
}

// firstModel is what the first agent runs on.
type firstModel struct {
	kind, model, secret string
}

// environment names the variables that hold a provider's key, in the order in which they are looked for.
var environment = []struct{ variable, kind string }{
	{"ANTHROPIC_API_KEY", model.TypeAnthropic}, {"OPENAI_API_KEY", model.TypeOpenAI}, {"GEMINI_API_KEY", model.TypeGoogle},
	{"GOOGLE_API_KEY", model.TypeGoogle}, {"OPENROUTER_API_KEY", model.TypeOpenRouter}, {"DEEPSEEK_API_KEY", model.TypeDeepSeek},
	{"GROQ_API_KEY", model.TypeGroq}, {"XAI_API_KEY", model.TypeXAI},
}

// KeyVariables lists the environment variables in which a first start looks for the key of a type of provider.
func KeyVariables(kind string) []string {
	var names []string
	for _, e := range environment {
		if e.kind == kind {
			names = append(names, e.variable)
		}
	}
	return names
}

// ollamaTimeout bounds the look for a local Ollama at the first start.
const ollamaTimeout = 300 * time.Millisecond

// firstModel takes a provider key from the environment, a local Ollama, or else the tutor (design §13).
func (s *Server) firstModel(ctx context.Context) firstModel {
	getenv := s.cfg.Environ
	if getenv == nil {
		getenv = os.Getenv
	}
	for _, e := range environment {
		if key := getenv(e.variable); key != "" {
			if id := s.catalogue.Default(e.kind); id != "" {
				return firstModel{kind: e.kind, model: id, secret: key}
			}
		}
	}
	base := s.cfg.ProviderURLs[model.TypeOllama]
	if base == "" {
		local, _ := provider.TypeNamed(provider.Ollama)
		base = local.BaseURL
	}
	if client, err := s.egress.Operator(base); err == nil {
		ctx, cancel := context.WithTimeout(ctx, ollamaTimeout)
		defer cancel()
		local := ollama.New(ollama.Config{BaseURL: base, HTTP: client})
		if models, err := local.Models(ctx); err == nil && len(models) > 0 {
			return firstModel{kind: model.TypeOllama, model: models[0].ID}
		}
	}
	return firstModel{kind: provider.Tutor, model: "tutor"}
}

// FirstAgent is the name of the agent that a first start makes.
const FirstAgent = "Assistant"

const firstPrompt = "You are a helpful assistant on the user's own server. Be brief and concrete. When you learn something that will matter later, write it to your memory."

// found writes the owner, the provider and the first agent in one transaction.
func (s *Server) found(tx store.Tx, first firstModel) error {
	now := clock.Millis(s.cfg.Clock)
	owner := s.owner.String()
	if err := account.EnsureOwner(tx, owner, now); err != nil {
		return err
	}
	cfg := wire.ProviderConfig{Type: first.kind}
	if first.secret != "" {
		name := first.kind + "-api-key"
		if _, err := s.vault.Set(tx, owner, name, []byte(first.secret), map[string]any{"kind": "api-key"}); err != nil {
			return err
		}
		cfg.SecretRefs = map[string]string{"apiKey": name}
	}
	p, err := provider.Set(tx, provider.SetParams{ID: s.cfg.IDs(), Account: owner, Name: first.kind, Config: cfg, Now: now})
	if err != nil {
		return err
	}
	def, err := agent.ParseDefinition(map[string]any{
		"name": FirstAgent, "systemPrompt": firstPrompt, "modelProvider": p.Name, "model": first.model, "tools": []any{},
	})
	if err != nil {
		return err
	}
	_, err = agent.Create(tx, agent.CreateParams{ID: s.cfg.IDs(), Account: owner, Definition: def, CreatedBy: owner, Now: now})
	return err
}
