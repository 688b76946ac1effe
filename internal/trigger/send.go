package trigger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/loam-agents/loam/internal/buildinfo"
	"github.com/loam-agents/loam/internal/clock"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/runs"
	"github.com/loam-agents/loam/internal/vault"
)

// KindSend is the kind of runs that send webhooks.
const KindSend = "webhook"

const (
	// sendTimeout bounds one attempt, and maxReply what is read of an answer.
	sendTimeout = 15 * time.Second
	maxReply    = 64 << 10
	// codeSend is the code of runs that could not send.
	codeSend = "webhook-failed"
)

// pauses are those between the attempts to send: eight attempts in about 18 hours.
func pauses() []time.Duration {
	return []time.Duration{5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour}
}

// sending is the input of a run that sends a webhook.
type sending struct {
	TriggerID string          `json:"triggerId"`
	FiringID  string          `json:"firingId"`
	URL       string          `json:"url"`
	Body      json.RawMessage `json:"body"`
}

// send queues a webhook.
func (f *firing) send() error {
	body, err := json.Marshal(map[string]any{
		"type": f.e.activity["type"], "timestamp": time.UnixMilli(f.now).UTC().Format(time.RFC3339), "data": map[string]any{
			"triggerId": f.t.ID, "triggerName": f.t.Name, "agentId": f.t.Agent, "firingId": f.id, "activityKey": f.e.key,
			"activitySummary": f.e.summary, "activity": f.activity,
		},
	})
	if err != nil {
		return fmt.Errorf("encode a webhook: %w", err)
	}
	input, err := json.Marshal(sending{TriggerID: f.t.ID, FiringID: f.id, URL: f.t.Continuation.URL, Body: body})
	if err != nil {
		return fmt.Errorf("encode a webhook: %w", err)
	}
	return f.enqueue(KindSend, int64(len(pauses())+1), input)
}

// Sender executes runs that send webhooks: each is signed, has the id of its firing, so that whoever gets it twice can tell, and is
// tried again for as long as its receiver does not take it. It implements runs.Executor.
type Sender struct {
	// Client is that of the egress class agent.
	Client *http.Client
	Vault  *vault.Vault
	Clock  clock.Clock
}

// Execute implements runs.Executor.
func (s *Sender) Execute(ctx context.Context, lease *runs.Lease) (runs.Outcome, error) {
	r := lease.Run()
	var in sending
	if err := json.Unmarshal(r.Input, &in); err != nil {
		return runs.Outcome{}, fmt.Errorf("read the input of webhook %s: %w", r.ID, err)
	}
	if err := lease.Start(ctx); err != nil {
		return runs.Outcome{}, err
	}
	t := Trigger{ID: in.TriggerID}
	secret, _, err := s.Vault.Get(ctx, r.Account, t.signingSecret())
	if fault.CodeOf(err) == fault.NotFound {
		return refused("The trigger that this webhook belongs to is gone"), nil
	}
	if err != nil {
		return runs.Outcome{}, err
	}
	status, err := s.post(ctx, &in, string(secret))
	switch {
	case ctx.Err() != nil:
		return runs.Outcome{}, context.Cause(ctx)
	case err == nil && status/100 == 2:
		return runs.Outcome{Status: runs.Succeeded, Output: json.RawMessage(fmt.Sprintf(`{"status":%d}`, status))}, nil
	case err == nil && status == http.StatusGone:
		return refused("The receiver says that it is gone for good (410)"), nil
	case fault.CodeOf(err) == fault.PermissionDenied || fault.CodeOf(err) == fault.ValidationFailed:
		return refused(fault.From(err).Message), nil
	}
	out := refused(fmt.Sprintf("The receiver answered %d", status))
	if err != nil {
		out.Message = "The receiver cannot be reached"
	}
	list := pauses()
	out.Retry, out.RetryAfter = true, list[min(max(int(r.Attempt-r.Recoveries)-1, 0), len(list)-1)]
	return out, nil
}

func refused(message string) runs.Outcome {
	return runs.Outcome{Status: runs.Failed, Code: codeSend, Message: message}
}

// post makes one attempt and returns the status of the answer. A redirect is an answer: a receiver that has moved is for a person to
// look at.
func (s *Sender) post(ctx context.Context, in *sending, secret string) (status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, in.URL, bytes.NewReader(in.Body))
	if err != nil {
		return 0, fault.Invalid("The address of the webhook cannot be used")
	}
	at := s.Clock.Now().Unix()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Loam/"+buildinfo.Version)
	req.Header.Set(HeaderID, in.FiringID)
	req.Header.Set(HeaderTimestamp, strconv.FormatInt(at, 10))
	req.Header.Set(HeaderSignature, Sign(secret, in.FiringID, at, in.Body))
	client := *s.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return 0, f
	}
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxReply))
	return resp.StatusCode, err
}
