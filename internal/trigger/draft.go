package trigger

import (
	"context"
	"encoding/json"
	"time"

	"github.com/loam-agents/loam/internal/agent/prompt"
	"github.com/loam-agents/loam/internal/bounded"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/trigger/schedule"
	"github.com/loam-agents/loam/wire"
)

// Draft is a trigger that was checked and is not saved.
type Draft struct {
	name         string
	enabled      bool
	source       wire.TriggerSource
	prompt       wire.PromptBlocks
	continuation *wire.TriggerContinuation
	program      json.RawMessage
	// signing is the signing secret of a sender, rotate asks for new secrets.
	signing string
	rotate  bool
}

// Check checks a trigger that is to be made. Errors are faults that name the field; nothing is written. It may start a process that
// compiles a script.
func (s *Service) Check(ctx context.Context, in wire.TriggerInput) (Draft, error) {
	return s.check(ctx, in, nil)
}

// CheckPatch checks what a trigger would be after a change.
func (s *Service) CheckPatch(ctx context.Context, t *Trigger, p wire.TriggerPatch) (Draft, error) {
	if p.Name == nil && p.Enabled == nil && p.Source == nil && p.Prompt == nil && p.Continuation == nil && p.SigningSecret == nil && !p.RotateSecrets {
		return Draft{}, fault.Invalid("Agent trigger patch is empty").With("field", "patch")
	}
	in := wire.TriggerInput{Name: t.Name, Enabled: &t.Enabled, Source: t.Source, Prompt: p.Prompt, Continuation: t.Continuation}
	if p.Name != nil {
		in.Name = *p.Name
	}
	if p.Enabled != nil {
		in.Enabled = p.Enabled
	}
	if p.Source != nil {
		in.Source = *p.Source
	}
	if p.Continuation != nil {
		in.Continuation = p.Continuation
	}
	if p.SigningSecret != nil {
		in.SigningSecret = *p.SigningSecret
	}
	d, err := s.check(ctx, in, t.Prompt)
	d.rotate = p.RotateSecrets
	return d, err
}

func (s *Service) check(ctx context.Context, in wire.TriggerInput, present wire.PromptBlocks) (d Draft, err error) {
	if d.name, err = bounded.Name(in.Name, "Trigger name"); err != nil {
		return d, fault.From(err).With("field", "name")
	}
	d.enabled = in.Enabled == nil || *in.Enabled
	if d.source, err = ParseSource(in.Source); err != nil {
		return d, err
	}
	if d.continuation, d.program, err = s.parseContinuation(ctx, in.Continuation); err != nil {
		return d, err
	}
	if d.prompt = present; in.Prompt != nil {
		if d.prompt, err = prompt.Read(in.Prompt, "Trigger prompt"); err != nil {
			return d, fault.From(err).With("field", "prompt")
		}
	}
	if len(d.prompt) == 0 && (d.continuation == nil || d.continuation.Kind == NewThread) {
		return d, fault.Invalid("%s", wire.MsgRequired("Trigger prompt")).With("field", "prompt")
	}
	if in.SigningSecret == "" {
		return d, nil
	}
	if !d.signs() {
		return d, fault.Invalid("A signing secret belongs to a webhook that is signed").With("field", "signingSecret")
	}
	d.signing, err = parseSigning(in.SigningSecret)
	return d, err
}

// signs tells whether the trigger has a signing secret: for what comes in, or for what it sends.
func (d *Draft) signs() bool {
	return d.source.Type == Webhook && d.source.Signed || d.continuation != nil && d.continuation.Kind == Send
}

// Gap is the shortest time between two firings of a schedule; zero for what is none.
func (d *Draft) Gap() time.Duration {
	if d.source.Schedule == nil {
		return 0
	}
	s, err := schedule.Parse(*d.source.Schedule)
	if err != nil {
		return 0
	}
	return s.Gap()
}

// maxPreview is how many times a preview shows.
const maxPreview = 5

// Preview is the trigger as it would be kept, and the next times at which its schedule would be due.
func (s *Service) Preview(account, agentID string, d *Draft) (info wire.TriggerInfo, fires []int64) {
	now := s.opts.Clock.Now()
	t := Trigger{Account: account, Agent: agentID, CreatedAt: now.UnixMilli(), UpdatedAt: now.UnixMilli()}
	t.take(d)
	s.arm(&t, now)
	fires = []int64{}
	if t.Source.Schedule == nil {
		return s.Info(&t), fires
	}
	sched, err := schedule.Parse(*t.Source.Schedule)
	if err != nil {
		return s.Info(&t), fires
	}
	for at := sched.First(now); !at.IsZero() && len(fires) < maxPreview; at = sched.Next(at) {
		fires = append(fires, at.UnixMilli())
	}
	return s.Info(&t), fires
}

// take puts a draft into a row.
func (t *Trigger) take(d *Draft) {
	t.Name, t.Enabled, t.Source, t.Prompt, t.Continuation, t.Program = d.name, d.enabled, d.source, d.prompt, d.continuation, d.program
}

// arm makes a trigger begin to count now.
func (s *Service) arm(t *Trigger, now time.Time) {
	t.ArmedAt, t.NextAt = now.UnixMilli(), 0
	if !t.Enabled || t.Source.Schedule == nil {
		return
	}
	if sched, err := schedule.Parse(*t.Source.Schedule); err == nil {
		t.NextAt = millis(sched.First(now))
	}
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Info is a trigger as its readers see it.
func (s *Service) Info(t *Trigger) wire.TriggerInfo {
	info := wire.TriggerInfo{
		ID: t.ID, Account: t.Account, AgentID: t.Agent, Name: t.Name, Enabled: t.Enabled, Source: t.Source, Prompt: t.Prompt,
		Continuation: t.Continuation, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, LastCheckedAt: t.LastCheckedAt,
		LastFiredAt: t.LastFiredAt, LastError: t.LastError, MergedInto: t.MergedInto, NextFireAt: t.NextAt, When: When(&t.Source),
	}
	if info.Prompt == nil {
		info.Prompt = wire.PromptBlocks{}
	}
	if IsActivity(t.Source.Type) && s.opts.Activities == nil {
		info.Notice = NoActivities
	}
	return info
}

// NoActivities is what a trigger for activities says on a server that has no source of them.
const NoActivities = "This server has no source of network activities yet, so this trigger does not fire."
