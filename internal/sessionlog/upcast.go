package sessionlog

import (
	"encoding/json"
	"fmt"

	"github.com/loam-agents/loam/wire"
)

// payloadVersion is the format of event payloads that this program writes. Events never change, so a log holds payloads of every
// version that was ever written, and upcasters lift them when they are read: whoever reads a log knows one form.
//
// Version 0 is the form of logs that were kept by servers of the protocol before Loam (spec/agents-protocol.md §4, §8.3, §11).
const payloadVersion = 1

// upcasters lift a payload from the version of their index to the next. fields are those of the payload, to be changed in place.
// They are pure, and each stays what it is once a version was released.
var upcasters = [payloadVersion]func(fields map[string]json.RawMessage) error{fromVersion0}

// upcast returns a payload in the form of payloadVersion. One of a later version, which a newer program wrote during a rolling
// upgrade, is passed on as it is.
func upcast(payload []byte, version int64) ([]byte, error) {
	if version >= payloadVersion {
		return payload, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(payload, &fields); err != nil {
		return nil, fmt.Errorf("event payload of version %d: %w", version, err)
	}
	for _, lift := range upcasters[max(version, 0):] {
		if err := lift(fields); err != nil {
			return nil, fmt.Errorf("event payload of version %d: %w", version, err)
		}
	}
	return json.Marshal(fields)
}

// fromVersion0 gives a callable its present name, and the files of a message the names and sizes that may be missing.
func fromVersion0(fields map[string]json.RawMessage) error {
	if name := fields["name"]; string(name) == `"execute_code"` {
		fields["name"] = json.RawMessage(`"execute"`)
	}
	if len(fields["attachments"]) == 0 {
		return nil
	}
	var files []wire.AttachmentRef
	if err := json.Unmarshal(fields["attachments"], &files); err != nil {
		return err
	}
	for i := range files {
		files[i].Name = baseName(files[i].Name)
	}
	lifted, err := json.Marshal(files)
	fields["attachments"] = lifted
	return err
}

// decodePlan reads a session's plan. Plans have no version: a step may be its label alone, lack an id, or have a status that
// nobody knows, as models once wrote them (spec §7.6).
func decodePlan(text string) (*wire.RunPlan, error) {
	var stored *struct {
		wire.RunPlan
		Steps []planStep `json:"steps"`
	}
	if err := json.Unmarshal([]byte(text), &stored); err != nil || stored == nil {
		return nil, err
	}
	plan := stored.RunPlan
	plan.Steps = make([]wire.PlanStep, len(stored.Steps))
	for i, s := range stored.Steps {
		step := wire.PlanStep(s)
		if step.ID == "" {
			step.ID = fmt.Sprintf("step-%d", i+1)
		}
		switch step.Status {
		case "pending", "running", "done", "failed", "skipped":
		default:
			step.Status = "pending"
		}
		plan.Steps[i] = step
	}
	return &plan, nil
}

// planStep is a step as it may be stored.
type planStep wire.PlanStep

// UnmarshalJSON takes a step, or its label alone.
func (s *planStep) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &s.Label)
	}
	return json.Unmarshal(b, (*wire.PlanStep)(s))
}
