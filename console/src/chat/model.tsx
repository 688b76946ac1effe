// The model of a conversation: its agent's, or another one that somebody has chosen for this conversation alone.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ModelFields } from "../agents/form.tsx";
import { updateSession } from "../api/operations.ts";
import type { Agent, Session } from "../api/types.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { explain } from "../ui/state.tsx";
import type { SessionStore } from "./store.ts";

export interface ModelChoice {
  provider: string;
  model: string;
  reasoningLevel?: string;
}

/** What a new turn of a conversation runs on; undefined while the agent is not known. */
export const choiceOf = (session: Session | undefined, agent: Agent | undefined): ModelChoice | undefined =>
  session?.modelOverride ??
  (agent && {
    provider: agent.definition.modelProvider, model: agent.definition.model,
    ...(agent.definition.reasoningLevel ? { reasoningLevel: agent.definition.reasoningLevel } : {}),
  });

export function ModelButton({ session, agent, store }: { session: Session; agent: Agent | undefined; store: SessionStore }) {
  const [open, setOpen] = useState(false);
  const choice = choiceOf(session, agent);
  return (
    <>
      <button
        type="button"
        className="button quiet small session-model"
        aria-label={`Model: ${choice?.model ?? "unknown"}. Choose another for this conversation`}
        title={choice ? `${choice.provider}/${choice.model}` : undefined}
        onClick={() => setOpen(true)}
      >
        <Icon name="settings" size={15} />
        <span className="mono truncate">{choice?.model ?? ""}</span>
        {session.modelOverride && <span className="chip accent">here only</span>}
      </button>
      <Dialog open={open} onClose={() => setOpen(false)} title="Model of this conversation">
        <ModelForm session={session} choice={choice} store={store} done={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function ModelForm({ session, choice, store, done }: { session: Session; choice: ModelChoice | undefined; store: SessionStore; done: () => void }) {
  const client = useQueryClient();
  const [fields, setFields] = useState({
    modelProvider: choice?.provider ?? "", model: choice?.model ?? "", reasoningLevel: choice?.reasoningLevel ?? "",
  });
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const change = async (override: ModelChoice | null): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      store.setSession((await updateSession(session.id, { modelOverride: override })).session);
      void client.invalidateQueries({ queryKey: ["sessions"] });
      done();
    } catch (error) {
      setProblem(explain(error));
      setBusy(false);
    }
  };
  const { modelProvider: provider, reasoningLevel } = fields;
  const model = fields.model.trim();
  return (
    <form
      className="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void change({ provider, model, ...(reasoningLevel ? { reasoningLevel } : {}) });
      }}
    >
      <p className="muted">The next turn of this conversation uses it. The agent and its other conversations stay as they are.</p>
      <ModelFields fields={fields} set={(some) => setFields((before) => ({ ...before, ...some }))} problems={{}} noLevel="Off" />
      {problem !== undefined && (
        <div className="notice bad" role="alert">
          {problem}
        </div>
      )}
      <div className="dialog-actions wrap">
        {session.modelOverride && (
          <button type="button" className="button" disabled={busy} onClick={() => void change(null)}>
            Back to the agent’s model
          </button>
        )}
        <span className="grow" />
        <button type="button" className="button" onClick={done}>
          Cancel
        </button>
        <button type="submit" className="button primary" disabled={busy || provider === "" || model === ""}>
          Use it here
        </button>
      </div>
    </form>
  );
}
