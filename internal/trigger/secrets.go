package trigger

import (
	"crypto/rand"
	"encoding/base64"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// secretBytes are the random bytes of a secret: 43 characters in base64url.
const secretBytes = 32

func random() []byte {
	b := make([]byte, secretBytes)
	rand.Read(b)
	return b
}

// The names of a trigger's secrets in the vault of its account.
func (t *Trigger) pathSecret() string    { return "trigger-" + t.ID + "-path" }
func (t *Trigger) signingSecret() string { return "trigger-" + t.ID + "-signing" }

// saveSecrets gives a trigger the secrets that it needs and does not have, and takes away those that it does not need any more.
func (s *Service) saveSecrets(tx store.Tx, t *Trigger, d *Draft) error {
	path, signing := t.Source.Type == Webhook, d.signs()
	if err := s.keep(tx, t.Account, t.pathSecret(), path, d.rotate, "", func() string { return base64.RawURLEncoding.EncodeToString(random()) }); err != nil {
		return err
	}
	return s.keep(tx, t.Account, t.signingSecret(), signing, d.rotate, d.signing, func() string { return SigningPrefix + base64.StdEncoding.EncodeToString(random()) })
}

func (s *Service) keep(tx store.Tx, account, name string, needed, rotate bool, given string, fresh func() string) error {
	_, _, err := s.opts.Vault.GetTx(tx, account, name)
	has := err == nil
	switch {
	case err != nil && fault.CodeOf(err) != fault.NotFound:
		return err
	case !needed && has:
		return s.opts.Vault.Delete(tx, account, name)
	case !needed, has && !rotate && given == "":
		return nil
	case given == "":
		given = fresh()
	}
	_, err = s.opts.Vault.Set(tx, account, name, []byte(given), map[string]any{"kind": "trigger"})
	return err
}

func (s *Service) dropSecrets(tx store.Tx, t *Trigger) error {
	for _, name := range []string{t.pathSecret(), t.signingSecret()} {
		if err := s.opts.Vault.Delete(tx, t.Account, name); err != nil && fault.CodeOf(err) != fault.NotFound {
			return err
		}
	}
	return nil
}

// Secrets are those of a trigger, for whoever may change it. WebhookURL is left to the caller, who knows the server's address.
func (s *Service) Secrets(tx store.Tx, t *Trigger) (out wire.TriggerSecrets, err error) {
	if out.WebhookSecret, err = s.secret(tx, t.Account, t.pathSecret()); err != nil {
		return out, err
	}
	out.SigningSecret, err = s.secret(tx, t.Account, t.signingSecret())
	return out, err
}

// secret is a value of the vault, empty when there is none.
func (s *Service) secret(tx store.Tx, account, name string) (string, error) {
	value, _, err := s.opts.Vault.GetTx(tx, account, name)
	if fault.CodeOf(err) == fault.NotFound {
		return "", nil
	}
	return string(value), err
}
