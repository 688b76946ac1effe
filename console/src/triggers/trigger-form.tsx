// Making a trigger: when it fires, what it does then, and a look at the next times before it is kept.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { createTrigger, previewTrigger } from "../api/operations.ts";
import { Field } from "../ui/field.tsx";
import { moment } from "../ui/format.ts";
import { explain } from "../ui/state.tsx";
import { toast } from "../ui/toast.tsx";
import { useUnsaved } from "../ui/unsaved.tsx";
import { emptyDraft, readDraft, type Draft } from "./draft.ts";

const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"] as const;

interface Part {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  problems: Partial<Record<keyof Draft, string>>;
}

/** `done` gets the id of what was made, nothing when the person gave up. */
export function TriggerForm({ agentId, done }: { agentId: string; done: (made: string | undefined) => void }) {
  const client = useQueryClient();
  const [initial] = useState(() => emptyDraft(Intl.DateTimeFormat().resolvedOptions().timeZone));
  const [draft, setDraft] = useState(initial);
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const [times, setTimes] = useState<readonly number[]>();
  const { guard, settle } = useUnsaved(draft !== initial);
  const read = readDraft(draft);
  const part: Part = {
    draft,
    problems: tried ? read.problems : {},
    set: (change) => {
      setDraft((now) => ({ ...now, ...change }));
      setTimes(undefined);
    },
  };
  const send = async (what: "preview" | "make"): Promise<void> => {
    setTried(true);
    setFailure(undefined);
    if (!read.fields) return;
    setBusy(true);
    try {
      if (what === "preview") {
        setTimes((await previewTrigger(agentId, read.fields)).nextFires);
      } else {
        const { trigger } = await createTrigger(agentId, read.fields);
        await client.invalidateQueries({ queryKey: ["triggers"] });
        toast(`${trigger.name} is made.`);
        settle();
        done(trigger.id);
        return;
      }
    } catch (error) {
      setFailure(error);
    }
    setBusy(false);
  };
  return (
    <form
      className="stack tool-form"
      aria-label="New trigger"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send("make");
      }}
    >
      <h2>New trigger</h2>
      <Field label="Name" problem={part.problems.name}>
        <input className="input" value={draft.name} autoFocus autoComplete="off" onChange={(event) => part.set({ name: event.target.value })} />
      </Field>
      <Source {...part} />
      <Then {...part} />
      <Field label="Prompt" problem={part.problems.prompt} help="Markdown. What the agent is asked to do.">
        <textarea className="input" rows={4} value={draft.prompt} onChange={(event) => part.set({ prompt: event.target.value })} />
      </Field>
      {failure !== undefined && (
        <div className="notice bad" role="alert">
          {explain(failure)}
        </div>
      )}
      <div role="status">
        {times && (times.length === 0 ? "Nothing is wrong with it. It fires when it happens." : `Nothing is wrong with it. It would fire at ${times.map(moment).join("; ")}.`)}
      </div>
      <div className="row wrap">
        <button type="submit" className="button primary" disabled={busy}>
          Make the trigger
        </button>
        <button type="button" className="button" disabled={busy} onClick={() => void send("preview")}>
          Check only
        </button>
        <button
          type="button"
          className="button quiet"
          onClick={() => {
            settle();
            done(undefined);
          }}
        >
          Cancel
        </button>
      </div>
      {guard}
    </form>
  );
}

function Source({ draft, set, problems }: Part) {
  return (
    <>
      <Field label="Fires">
        <select className="input" value={draft.source} onChange={(event) => set({ source: event.target.value as Draft["source"] })}>
          <option value="weekly">On days of the week</option>
          <option value="interval">Again and again</option>
          <option value="once">Once</option>
          <option value="cron">By a cron expression</option>
          <option value="webhook">When a webhook is called</option>
          <option value="run-completed">When a run ends</option>
        </select>
      </Field>
      {draft.source === "weekly" && (
        <>
          <fieldset className="choices">
            <legend>Days</legend>
            <div className="row wrap">
              {days.map((day, i) => (
                <label key={day} className="check">
                  <input
                    type="checkbox"
                    checked={draft.days.includes(i)}
                    onChange={(event) => set({ days: event.target.checked ? [...draft.days, i] : draft.days.filter((other) => other !== i) })}
                  />
                  {day}
                </label>
              ))}
            </div>
            {problems.days && <span role="alert">{problems.days}</span>}
          </fieldset>
          <Field label="Time" problem={problems.time}>
            <input className="input" type="time" value={draft.time} onChange={(event) => set({ time: event.target.value })} />
          </Field>
        </>
      )}
      {draft.source === "interval" && (
        <>
          <Field label="Every" problem={problems.every}>
            <input className="input" inputMode="numeric" value={draft.every} onChange={(event) => set({ every: event.target.value })} />
          </Field>
          <Field label="Unit">
            <select className="input" value={draft.unit} onChange={(event) => set({ unit: event.target.value as Draft["unit"] })}>
              <option value="minutes">minutes</option>
              <option value="hours">hours</option>
              <option value="days">days</option>
            </select>
          </Field>
        </>
      )}
      {draft.source === "once" && (
        <Field label="At" problem={problems.at} help="By the clock of this browser.">
          <input className="input" type="datetime-local" value={draft.at} onChange={(event) => set({ at: event.target.value })} />
        </Field>
      )}
      {draft.source === "cron" && (
        <Field label="Cron expression" problem={problems.cron} help="Minute, hour, day, month, day of the week; or @hourly to @yearly.">
          <input className="input mono" value={draft.cron} spellCheck={false} onChange={(event) => set({ cron: event.target.value })} />
        </Field>
      )}
      {(draft.source === "weekly" || draft.source === "cron") && (
        <Field label="Time zone" help="Such as Europe/Berlin.">
          <input className="input" value={draft.timezone} spellCheck={false} onChange={(event) => set({ timezone: event.target.value })} />
        </Field>
      )}
      {draft.source === "webhook" && (
        <label className="check">
          <input type="checkbox" checked={draft.signed} onChange={(event) => set({ signed: event.target.checked })} /> Deliveries have to be signed (Standard Webhooks)
        </label>
      )}
      {draft.source === "run-completed" && (
        <Field label="How it ended">
          <select className="input" value={draft.status} onChange={(event) => set({ status: event.target.value })}>
            <option value="">In any way</option>
            <option value="succeeded">succeeded</option>
            <option value="failed">failed</option>
            <option value="canceled">canceled</option>
          </select>
        </Field>
      )}
    </>
  );
}

function Then({ draft, set, problems }: Part) {
  return (
    <>
      <Field label="Then">
        <select className="input" value={draft.then} onChange={(event) => set({ then: event.target.value as Draft["then"] })}>
          <option value="thread">Begin a conversation</option>
          <option value="tool">Call a tool</option>
          <option value="wake">Give a signal to what waits for it</option>
          <option value="webhook">Send a webhook</option>
        </select>
      </Field>
      {draft.then === "tool" && (
        <Field label="Tool" problem={problems.tool} help="Called without a conversation.">
          <input className="input mono" value={draft.tool} spellCheck={false} onChange={(event) => set({ tool: event.target.value })} />
        </Field>
      )}
      {draft.then === "wake" && (
        <Field label="Signal" problem={problems.signal}>
          <input className="input mono" value={draft.signal} spellCheck={false} onChange={(event) => set({ signal: event.target.value })} />
        </Field>
      )}
      {draft.then === "webhook" && (
        <Field label="Send it to" problem={problems.url} help="Signed; the secret is shown with the trigger.">
          <input className="input mono" type="url" placeholder="https://" value={draft.url} onChange={(event) => set({ url: event.target.value })} />
        </Field>
      )}
    </>
  );
}
