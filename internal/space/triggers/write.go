package triggers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loam-agents/loam/internal/agent"
	"github.com/loam-agents/loam/internal/fault"
	"github.com/loam-agents/loam/internal/space"
	"github.com/loam-agents/loam/internal/store"
	"github.com/loam-agents/loam/internal/trigger"
	"github.com/loam-agents/loam/internal/trigger/schedule"
	"github.com/loam-agents/loam/wire"
)

// Contract says how triggers are written; a listing of them carries it.
const Contract = `Write JSON to ~/triggers/<name>: {"source": {…}, "prompt": "what to do", "enabled"?: true, "continuation"?: {…}}. Writing to a name that is there changes the parts that you give.
source: {"type":"schedule","schedule":S} | {"type":"webhook","signed"?:true} | {"type":"run-completed","agentId"?,"status"?:"succeeded|failed|canceled","titleMatch"?}
  | {"type":"user-mention","mentionedAccounts":[…]} | {"type":"document-comment","resource":"hm://…"} | {"type":"site-update","resourcePrefix":"hm://…"}
S: {"kind":"interval","every":2,"unit":"minutes|hours|days"} | {"kind":"weekly","daysOfWeek":[1],"timeOfDay":"09:00","timezone":"Europe/Berlin"} | {"kind":"cron","cron":"0 9 * * 1-5","timezone":"…"} | {"kind":"once","runAt":MILLISECONDS}
continuation (default: a new thread): {"kind":"newThread","sessionId"?} | {"kind":"wake","signal":"…","runId"?,"payload"?} | {"kind":"tool","tool":"…","input"?,"onFailure"?:"thread"} | {"kind":"script","script":"…","input"?} | {"kind":"webhook","url":"https://…"} (with the grant publish)
Read ~/tools/write/triggers for the options.`

// Guide is the write guide ~/tools/write/triggers.
const Guide = `# Writing triggers

A trigger starts you by itself. It is live as soon as it is written.

` + "`write {address: \"~/triggers/Morning\", content: \"…\"}`" + ` with JSON content:

` + "```json" + `
{
  "source": {"type": "schedule", "schedule": {"kind": "cron", "cron": "0 7 * * 1-5", "timezone": "Europe/Berlin"}},
  "prompt": "Sum up what is new and write it to ~/memory/news.md."
}
` + "```" + `

` + "```text\n" + Contract + "\n```" + `

- In ` + "`payload` and `input`" + ` the text "$event" stands for what happened, and "$event.path" for a part of it.
- ` + "`dryRun: true`" + ` (beside content, not in options) checks and shows the next times; nothing is stored.
- ` + "`options.expectedUpdatedAt`" + `: refuse the write when the trigger was changed since then.
- ` + "`options.replaceSource: true`" + `: needed to give a trigger another type of source, or to take conditions away from it.
- ` + "`options.frequentSchedule: true`" + `: needed for less than 15 minutes between two firings.
- ` + "`options.combineWith: \"<other>\"`" + `: merge the conditions of another activity trigger into this one, without content; ` + "`options.useOtherAction: true`" + ` takes the other's prompt and continuation.
- ` + "`options.delete: true`" + ` removes it. Write ` + "`{\"enabled\": false}`" + ` to keep it for later.
- Your user finds the address and the secrets of a webhook in its trigger; you do not see them.
`

const shape = `Content must be JSON: {"source": {"type": "…", …}, "prompt": "…", "enabled"?: true, "continuation"?: {"kind": "…", …}}`

// options are those of a write.
type options struct {
	remove, useOther, replace, frequent bool
	combineWith                         string
	expected                            int64
}

func parseOptions(req space.WriteRequest) (o options, err error) {
	if err := space.KnownOptions(req.Options, root+" writes", "delete", "trigger", "combineWith", "useOtherAction", "expectedUpdatedAt", "replaceSource", "frequentSchedule"); err != nil {
		return o, err
	}
	for name, into := range map[string]*bool{"delete": &o.remove, "useOtherAction": &o.useOther, "replaceSource": &o.replace, "frequentSchedule": &o.frequent} {
		if *into, err = space.Flag(req.Options, name); err != nil {
			return o, err
		}
	}
	if value, given := req.Options["combineWith"]; given {
		if o.combineWith, _ = value.(string); strings.TrimSpace(o.combineWith) == "" {
			return o, fault.Invalid("options.combineWith must name another trigger")
		}
		o.combineWith = nameOf(root + "/" + strings.TrimPrefix(strings.TrimSpace(o.combineWith), root+"/"))
	}
	if value, given := req.Options["expectedUpdatedAt"]; given {
		n, ok := value.(float64)
		if !ok || n < 1 || n != float64(int64(n)) {
			return o, fault.Invalid("options.expectedUpdatedAt must be the updatedAt of the trigger, a whole number")
		}
		o.expected = int64(n)
	}
	content := req.Content != nil || req.Options["trigger"] != nil
	switch {
	case o.remove && (content || o.combineWith != ""), o.combineWith != "" && content:
		return o, fault.Invalid("Give one of a trigger, options.delete and options.combineWith")
	case !o.remove && o.combineWith == "" && !content:
		return o, fault.Invalid(shape)
	}
	return o, nil
}

// Write implements space.Writer.
func (s *Scheme) Write(ctx context.Context, scope space.Scope, req space.WriteRequest) (space.Change, error) {
	o, err := parseOptions(req)
	if err != nil {
		return nil, err
	}
	name := nameOf(req.Address)
	if name == "" {
		return nil, fault.Invalid("Name one trigger to write: %s/<name>", root)
	}
	var list []trigger.Trigger
	err = s.store.Read(ctx, func(tx store.Tx) (err error) {
		list, err = trigger.List(tx, scope.Agent)
		return err
	})
	if err != nil {
		return nil, err
	}
	found, err := named(list, name)
	if err != nil {
		return nil, err
	}
	if found != nil && o.expected != 0 && o.expected != found.UpdatedAt {
		return nil, trigger.Stale()
	}
	w := &write{s: s, scope: scope, name: name, found: found, dry: req.DryRun != nil && *req.DryRun}
	switch {
	case o.remove:
		w.apply = w.remove
		return w, nil
	case o.combineWith != "":
		return w, w.combining(list, o)
	}
	return w, w.saving(ctx, req, o)
}

// write is one that was checked.
type write struct {
	s     *Scheme
	scope space.Scope
	name  string
	// found is the trigger that is there.
	found *trigger.Trigger
	draft trigger.Draft
	other *trigger.Trigger
	o     options
	dry   bool
	apply func(tx store.Tx) (space.Result, error)
}

// Apply implements space.Change.
func (w *write) Apply(tx store.Tx) (space.Result, error) {
	out, err := w.apply(tx)
	if err == nil && !w.dry {
		w.s.changed(tx, w.scope)
	}
	return out, err
}

func (w *write) absent() error {
	return fault.Missing("There is no trigger %q. Read %s/ to list them", w.name, root)
}

func (w *write) remove(tx store.Tx) (space.Result, error) {
	out := space.Result{"summary": "Deleted " + w.name, "name": w.name, "deleted": w.found != nil}
	if w.found == nil {
		out["summary"] = fmt.Sprintf("There was no trigger %q", w.name)
		return out, nil
	}
	out["id"] = w.found.ID
	if w.dry {
		out["dryRun"], out["summary"] = true, "Would delete "+w.name
		return out, nil
	}
	return out, w.s.triggers.Delete(tx, w.found)
}

func (w *write) combining(list []trigger.Trigger, o options) (err error) {
	if w.found == nil {
		return w.absent()
	}
	if w.other, err = named(list, o.combineWith); err != nil {
		return err
	}
	if w.other == nil {
		return fault.Missing("There is no trigger %q to combine with", o.combineWith)
	}
	if w.dry {
		return fault.Invalid("dryRun is not supported when triggers are combined")
	}
	w.o, w.apply = o, w.combine
	return nil
}

func (w *write) combine(tx store.Tx) (space.Result, error) {
	t, err := w.s.triggers.Combine(tx, trigger.Combination{
		Target: w.found.ID, Other: w.other.ID, TargetUpdatedAt: w.found.UpdatedAt, OtherUpdatedAt: w.other.UpdatedAt, UseOther: w.o.useOther,
	})
	if err != nil {
		return nil, err
	}
	return w.result(&t, "Combined "+w.other.Name+" into"), nil
}

// content is what an agent writes of a trigger. A name in it cannot retarget the write.
type content struct {
	Name         any                       `json:"name"`
	Source       *wire.TriggerSource       `json:"source"`
	Prompt       any                       `json:"prompt"`
	Enabled      *bool                     `json:"enabled"`
	Continuation *wire.TriggerContinuation `json:"continuation"`
}

func parse(req space.WriteRequest) (c content, err error) {
	text := []byte(nil)
	switch value, given := req.Options["trigger"]; {
	case given && req.Content != nil:
		return c, fault.Invalid("Give the trigger either as content or as options.trigger, not both")
	case given:
		if text, err = json.Marshal(value); err != nil {
			return c, fault.Invalid(shape)
		}
	default:
		text = []byte(*req.Content)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil || !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) || decoder.More() {
		return c, fault.Invalid("%s (%v)", shape, err)
	}
	return c, nil
}

// saving checks a trigger that is to be made or changed.
func (w *write) saving(ctx context.Context, req space.WriteRequest, o options) error {
	c, err := parse(req)
	if err != nil {
		return err
	}
	if c.Continuation != nil && c.Continuation.Kind == trigger.Send && !agent.GrantsOf(w.scope.Definition, nil).Publish {
		return fault.New(fault.PermissionDenied, "You are not granted to send anything out: a person can make this trigger, or grant `publish`").With("field", "continuation.kind")
	}
	if w.found == nil {
		if c.Source == nil {
			return fault.Invalid("There is no trigger %q yet, and a new one needs a source. "+shape, w.name)
		}
		w.draft, err = w.s.triggers.Check(ctx, wire.TriggerInput{Name: w.name, Enabled: c.Enabled, Source: *c.Source, Prompt: c.Prompt, Continuation: c.Continuation})
	} else {
		w.draft, err = w.s.triggers.CheckPatch(ctx, w.found, wire.TriggerPatch{Enabled: c.Enabled, Source: c.Source, Prompt: c.Prompt, Continuation: c.Continuation})
	}
	if err != nil {
		return err
	}
	if gap := w.draft.Gap(); c.Source != nil && gap > 0 && gap < schedule.UsualMinimum && !o.frequent {
		return fault.Invalid("This schedule fires every %s; less than %s needs options.frequentSchedule: true", gap, schedule.UsualMinimum).With("field", "source.schedule")
	}
	if w.found != nil && c.Source != nil && !o.replace {
		if err := keeps(&w.found.Source, c.Source); err != nil {
			return err
		}
	}
	w.apply = w.save
	return nil
}

// keeps refuses a change that would lose what a trigger waits for.
func keeps(before, after *wire.TriggerSource) error {
	if before.Type != after.Type {
		return fault.Invalid("This trigger is a %s; options.replaceSource: true makes it a %s", before.Type, after.Type).With("field", "source.type")
	}
	for _, c := range before.Conditions {
		if !slices.ContainsFunc(after.Conditions, func(o wire.TriggerCondition) bool { return o.ID == c.ID }) {
			return fault.Invalid("This would take the condition %q away; options.replaceSource: true does it", c.ID).With("field", "source.conditions")
		}
	}
	return nil
}

func (w *write) save(tx store.Tx) (space.Result, error) {
	if w.dry {
		info, fires := w.s.triggers.Preview(w.scope.Account, w.scope.Agent, &w.draft)
		out := space.Result{"summary": "Would save " + w.name, "dryRun": true, "name": w.name, "enabled": info.Enabled, "source": plain(info.Source), "when": info.When, "nextFires": fires}
		present(out, "notice", info.Notice)
		return out, nil
	}
	if w.found == nil {
		t, err := w.s.triggers.Create(tx, w.scope.Account, w.scope.Agent, &w.draft)
		return w.result(&t, "Made"), err
	}
	t, err := w.s.triggers.Update(tx, *w.found, &w.draft)
	return w.result(&t, "Changed"), err
}

func (w *write) result(t *trigger.Trigger, verb string) space.Result {
	info := w.s.triggers.Info(t)
	out := space.Result{
		"summary": fmt.Sprintf("%s %s: %s, %s", verb, t.Name, info.When, status(t)), "id": t.ID, "name": t.Name, "enabled": t.Enabled, "source": plain(t.Source),
		"updatedAt": t.UpdatedAt,
	}
	present(out, "nextFireAt", info.NextFireAt)
	present(out, "notice", info.Notice)
	return out
}
