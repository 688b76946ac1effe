package trigger

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/principal"
	"github.com/loam-agents/loam/wire"
)

// mentionPrompt is the prompt of the trigger that answers mentions.
const mentionPrompt = "Somebody mentioned you. Read what they wrote and what it stands in, do what they ask for, and answer them there."

// identityKind is the metadata's kind of secrets that are signing identities.
const identityKind = "hm-account-key"

// GiveMention gives an agent that signs for an account the trigger which answers mentions of that account, once in its life: whoever
// deletes it is not given it again.
func (s *Service) GiveMention(tx store.Tx, a *agent.Agent) error {
	key := a.Definition.SigningKey
	if keys := agent.SigningKeys(a.Definition); key == "" && len(keys) > 0 {
		key = keys[0]
	}
	if key == "" {
		return nil
	}
	var given bool
	if err := tx.QueryRow(`SELECT mention_trigger FROM agents WHERE id = ?`, a.ID).Scan(&given); err != nil {
		return fmt.Errorf("look for the mention trigger: %w", err)
	}
	if given {
		return nil
	}
	_, info, err := s.opts.Vault.GetTx(tx, a.Account, key)
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	account, _ := info.Metadata["accountId"].(string)
	if _, err := principal.ParseID(account); err != nil || info.Metadata["kind"] != identityKind {
		return nil
	}
	d, err := s.Check(context.Background(), wire.TriggerInput{
		Name: mentionName(a), Source: wire.TriggerSource{Type: UserMention, MentionedAccounts: []string{account}}, Prompt: mentionPrompt,
	})
	if err != nil {
		return err
	}
	if _, err := s.Create(tx, a.Account, a.ID, &d); err != nil {
		return err
	}
	if _, err := tx.Exec(`UPDATE agents SET mention_trigger = 1 WHERE id = ?`, a.ID); err != nil {
		return fmt.Errorf("note the mention trigger: %w", err)
	}
	return nil
}

func mentionName(a *agent.Agent) string {
	const prefix, limit = "Mentions of ", 240
	name := cmp.Or(a.Definition.Name, a.ID)
	if len(name) > limit {
		name = strings.ToValidUTF8(name[:limit], "")
	}
	return prefix + name
}

// GiveMentions gives the trigger to agents that were made before there was one.
func (s *Service) GiveMentions(ctx context.Context) error {
	return s.opts.Store.Write(ctx, store.Background, func(tx store.Tx) error {
		agents, err := agent.Where(tx, `mention_trigger = 0 AND definition LIKE ?`, `%"signingKey%`)
		if err != nil {
			return err
		}
		for i := range agents {
			if err := s.GiveMention(tx, &agents[i]); err != nil {
				return fmt.Errorf("give agent %s the mention trigger: %w", agents[i].ID, err)
			}
		}
		return nil
	})
}
