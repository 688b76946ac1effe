package trigger

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/wire"
)

// Limits of deliveries to a webhook.
const (
	// MaxDelivery bounds the body, in bytes.
	MaxDelivery = 64 << 10
	// DeliveriesPerMinute is how many deliveries one trigger takes, and DeliveryBurst how many of them at once.
	DeliveriesPerMinute, DeliveryBurst = 60, 30
)

// Delivery is what was sent to a webhook.
type Delivery struct {
	// IdempotencyKey is the header of that name; may be empty.
	IdempotencyKey string
	// ID, Timestamp and Signature are the headers of Standard Webhooks; may be empty.
	ID, Timestamp, Signature string
	Body                     []byte
}

// deliveryID is what a sender may call a delivery.
var deliveryID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$`)

// Admit finds the webhook that a delivery is for, before its body is read. A wrong secret and an unknown trigger are the same
// fault.NotFound; too many deliveries are fault.RateLimited, one to a trigger that is switched off fault.Conflict.
func (s *Service) Admit(ctx context.Context, triggerID, secret string) (Trigger, error) {
	var t Trigger
	err := s.opts.Store.Read(ctx, func(tx store.Tx) (err error) {
		if t, err = Get(tx, triggerID); err != nil {
			return err
		}
		want, err := s.secret(tx, t.Account, t.pathSecret())
		if err != nil {
			return err
		}
		if t.Source.Type != Webhook || want == "" || subtle.ConstantTimeCompare([]byte(want), []byte(secret)) != 1 {
			return missing()
		}
		return nil
	})
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return t, fault.Missing("Webhook not found")
	case err != nil:
		return t, err
	case !t.Enabled:
		return t, switchedOff()
	}
	return t, s.pace(t.ID)
}

func switchedOff() error { return fault.New(fault.Conflict, "This webhook is switched off") }

// pace counts a delivery against the rate of its trigger.
func (s *Service) pace(triggerID string) error {
	s.rates.Lock()
	defer s.rates.Unlock()
	limiter := s.limiters[triggerID]
	if limiter == nil {
		limiter = rate.NewLimiter(rate.Limit(DeliveriesPerMinute)/60, DeliveryBurst)
		s.limiters[triggerID] = limiter
	}
	now := s.opts.Clock.Now()
	reservation := limiter.ReserveN(now, 1)
	if wait := reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
		return fault.New(fault.RateLimited, "Too many deliveries: at most %d a minute", DeliveriesPerMinute).
			With("retryAfter", int64((wait+time.Second-1)/time.Second))
	}
	return nil
}

// Deliver makes an admitted webhook fire. It tells whether the delivery had come before. Errors are faults: validation_failed for a
// body that is no JSON or an id that is none, unauthenticated for a signature that is missing or wrong.
func (s *Service) Deliver(ctx context.Context, t *Trigger, d Delivery) (duplicate bool, err error) {
	if len(d.Body) > MaxDelivery {
		return false, fault.New(fault.TooLarge, "The body has %d bytes, at most %d KiB", len(d.Body), MaxDelivery>>10)
	}
	if d.IdempotencyKey != "" && !deliveryID.MatchString(d.IdempotencyKey) {
		return false, fault.Invalid("Idempotency-Key must be 1 to 128 letters, digits or one of . _ : -")
	}
	id := d.IdempotencyKey
	if t.Source.Signed {
		if err := s.checkSignature(ctx, t, &d); err != nil {
			return false, err
		}
		id = d.ID
	}
	if !utf8.Valid(d.Body) || !json.Valid(d.Body) {
		return false, fault.Invalid("The body must be JSON")
	}
	if id == "" {
		id = s.opts.IDs()
	}
	e := event{
		key: "webhook:" + id, summary: "Webhook delivery " + id, author: "webhook delivery " + id, activity: map[string]any{
			"type": Webhook, "deliveryId": id, "receivedAt": s.now(), "payload": json.RawMessage(d.Body),
		},
	}
	err = s.opts.Store.Write(ctx, store.Interactive, func(tx store.Tx) error {
		// It may have been changed since it was admitted.
		now, err := Get(tx, t.ID)
		if err != nil {
			return err
		}
		if !now.Enabled || now.Source.Type != Webhook {
			return switchedOff()
		}
		_, fired, err := s.fire(tx, &now, e)
		duplicate = !fired
		return err
	})
	return duplicate, err
}

// checkSignature checks that a delivery was signed with the trigger's secret, not long ago.
func (s *Service) checkSignature(ctx context.Context, t *Trigger, d *Delivery) error {
	refuse := func(text string) error {
		f := fault.New(fault.Unauthenticated, "%s", text)
		f.HTTPStatus = http.StatusUnauthorized
		return f
	}
	if d.ID == "" || d.Timestamp == "" || d.Signature == "" {
		return refuse("This webhook takes signed deliveries only: webhook-id, webhook-timestamp and webhook-signature are missing")
	}
	at, err := strconv.ParseInt(d.Timestamp, 10, 64)
	if err != nil || !deliveryID.MatchString(d.ID) {
		return refuse("webhook-id or webhook-timestamp cannot be read")
	}
	if age := s.opts.Clock.Now().Sub(time.Unix(at, 0)); age > Tolerance || age < -Tolerance {
		return refuse("webhook-timestamp is more than 5 minutes away from this server's time")
	}
	secret, _, err := s.opts.Vault.Get(ctx, t.Account, t.signingSecret())
	if err != nil {
		return err
	}
	if !verified(d.Signature, string(secret), d.ID, at, d.Body) {
		return refuse("webhook-signature is wrong")
	}
	return nil
}

// RunNow makes a trigger fire because somebody asks for it, whether or not it is enabled. Its schedule goes on as if nothing had been.
func (s *Service) RunNow(tx store.Tx, t *Trigger) (out wire.TriggerFiring, err error) {
	if t.MergedInto != "" {
		return out, fault.New(fault.Conflict, "This trigger was merged into another one and does not fire")
	}
	e := event{key: "manual:" + s.opts.IDs(), summary: "Run by hand", activity: map[string]any{"type": "manual", "at": s.now()}}
	out, _, err = s.fire(tx, t, e)
	return out, err
}
