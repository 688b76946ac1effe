// Writing a tool: its contract and its program.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError } from "../api/client.ts";
import { saveTool } from "../api/operations.ts";
import type { Tool } from "../api/types.ts";
import { Field, Segmented } from "../ui/field.tsx";
import { explain } from "../ui/state.tsx";
import { toast } from "../ui/toast.tsx";
import { useUnsaved } from "../ui/unsaved.tsx";
import { draftOf, emptyDraft, readDraft, tagOf, type ToolDraft } from "./tools.ts";

/** `done` gets the name of what was saved, nothing when the person gave up. */
export function ToolForm({ agentId, tool, done }: { agentId: string; tool?: Tool; done: (saved: string | undefined) => void }) {
  const client = useQueryClient();
  // The state that the change is meant for: what arrives meanwhile is noticed by the server.
  const [before] = useState(tool);
  const [initial] = useState(() => (tool ? draftOf(tool) : emptyDraft));
  const [draft, setDraft] = useState(initial);
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const read = readDraft(draft, before?.enabled);
  const problems = tried ? read.problems : {};
  const set = (change: Partial<ToolDraft>): void => setDraft((now) => ({ ...now, ...change }));
  const { guard, settle } = useUnsaved(JSON.stringify(draft) !== JSON.stringify(initial));
  const save = async (): Promise<void> => {
    setTried(true);
    if (!read.fields) return;
    setBusy(true);
    setFailure(undefined);
    try {
      const { tool: now } = await saveTool(agentId, read.fields, before?.name, before && tagOf(before));
      await client.invalidateQueries({ queryKey: ["agents", agentId, "tools"] });
      toast(before ? "Saved. The next call uses it." : `${now.name} is made.`);
      settle();
      done(now.name);
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  return (
    <form
      className="stack tool-form"
      aria-label={before ? `Change ${before.name}` : "New tool"}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void save();
      }}
    >
      <h2>{before ? `Change ${before.name}` : "New tool"}</h2>
      <Field label="Name" problem={problems.name} help="What the agent calls.">
        <input className="input mono" value={draft.name} autoFocus={!before} autoComplete="off" spellCheck={false} placeholder="count_words" onChange={(event) => set({ name: event.target.value })} />
      </Field>
      <Field label="Description" problem={problems.description} help="Markdown. What it does, when to use it, what comes back.">
        <textarea className="input" rows={4} value={draft.description} onChange={(event) => set({ description: event.target.value })} />
      </Field>
      <Field label="Line" help="Stands in lists; the first sentence of the description when it is empty.">
        <input className="input" value={draft.summary} maxLength={140} onChange={(event) => set({ summary: event.target.value })} />
      </Field>
      <Segmented
        label="Language"
        value={draft.runtime}
        options={[
          { value: "typescript", label: "TypeScript" },
          { value: "python", label: "Python" },
        ]}
        onChange={(runtime) => set({ runtime })}
      />
      <Field label="Program" problem={problems.source} help={draft.runtime === "python" ? "def main(input): what it returns is the result." : "export default async function (input): what it returns is the result."}>
        <textarea className="input mono" rows={10} spellCheck={false} value={draft.source} onChange={(event) => set({ source: event.target.value })} />
      </Field>
      <Field label="Takes" problem={problems.input} help="JSON Schema with an object at its root.">
        <textarea className="input mono" rows={6} spellCheck={false} value={draft.input} onChange={(event) => set({ input: event.target.value })} />
      </Field>
      <Field label="Returns" problem={problems.output} help="JSON Schema; leave it empty when nothing is promised.">
        <textarea className="input mono" rows={3} spellCheck={false} value={draft.output} onChange={(event) => set({ output: event.target.value })} />
      </Field>
      {failure !== undefined && (
        <div className="notice bad" role="alert">
          {failure instanceof ApiError && failure.code === "precondition_failed"
            ? "The tool was changed meanwhile, perhaps by the agent. Copy what you wrote, cancel, and look at what it is now."
            : explain(failure)}
        </div>
      )}
      <div className="row">
        <button type="submit" className="button primary" disabled={busy}>
          {busy ? "Saving…" : "Save"}
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
