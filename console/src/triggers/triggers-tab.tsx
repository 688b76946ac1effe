// What starts an agent by itself: a list at the left, one trigger with its firings at the right.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { ApiError } from "../api/client.ts";
import { deleteTrigger, fireTrigger, queries, switchTrigger } from "../api/operations.ts";
import type { Firing, Trigger, TriggerShown } from "../api/types.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Confirm } from "../ui/dialog.tsx";
import { plural } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { Empty, explain, Failed, SkeletonRows } from "../ui/state.tsx";
import { Ago } from "../ui/time.tsx";
import { toast } from "../ui/toast.tsx";
import { TriggerForm } from "./trigger-form.tsx";
import { doesOf, firingLook, nextOf, stateOf } from "./words.ts";

const from = "/app/agents/$agentId/triggers" as const;

export function TriggersTab() {
  const { agentId } = useParams({ from });
  const { trigger, make } = useSearch({ from });
  const agent = useQuery(queries.agent(agentId));
  const list = useQuery(queries.triggers(agentId));
  const navigate = useNavigate();
  const choose = (id: string | undefined): void =>
    void navigate({ to: "/agents/$agentId/triggers", params: { agentId }, search: id === undefined ? {} : { trigger: id } });
  const role = agent.data?.agent.accessRole;
  const may = role === "owner" || role === "writer";
  const making = make !== undefined && may;
  const create = may && (
    <Link to="/agents/$agentId/triggers" params={{ agentId }} search={{ make: "new" }} className="button">
      <Icon name="plus" /> New trigger
    </Link>
  );
  if (list.isPending) return <SkeletonRows rows={4} height={46} label="Loading the triggers" />;
  if (list.isError) return <Failed what="The triggers did not load" error={list.error} retry={() => void list.refetch()} />;
  if (list.data.length === 0 && !making) {
    return (
      <Empty icon="clock" title="Nothing starts this agent by itself" action={create}>
        A trigger starts it on a schedule, when a webhook is called, or when a run ends. The agent makes them too, when you ask it to.
      </Empty>
    );
  }
  return (
    <div className="memory tools" data-open={trigger !== undefined || making}>
      <nav className="memory-list" aria-label="Triggers of the agent">
        <div className="row memory-head">
          <span className="muted small grow">{plural(list.data.length, "trigger")}</span>
          {create}
        </div>
        <ul className="plain">
          {list.data.map((entry) => (
            <li key={entry.id}>
              <button type="button" className="memory-entry tool-entry" aria-current={entry.id === trigger ? "true" : undefined} onClick={() => choose(entry.id)} data-item>
                <span className="truncate">{entry.name}</span>
                <span className={`status ${stateOf(entry).look}`}>{stateOf(entry).label}</span>
                <span className="muted small truncate">{entry.when}</span>
              </button>
            </li>
          ))}
        </ul>
      </nav>
      <section className="card memory-file" aria-label="Trigger">
        {making ? (
          <TriggerForm agentId={agentId} done={choose} />
        ) : trigger === undefined ? (
          <Empty icon="clock" title="Choose a trigger">
            When it fires, what it does and its newest firings stand here.
          </Empty>
        ) : (
          <One key={trigger} id={trigger} may={may} close={() => choose(undefined)} />
        )}
      </section>
    </div>
  );
}

function One({ id, may, close }: { id: string; may: boolean; close: () => void }) {
  const shown = useQuery(queries.trigger(id));
  if (shown.isPending) return <SkeletonRows rows={4} height={46} label="Loading the trigger" />;
  if (shown.isError) {
    return shown.error instanceof ApiError && shown.error.code === "not_found" ? (
      <Empty icon="clock" title="There is no such trigger" action={<button type="button" className="button" onClick={close}>All triggers</button>}>
        It was deleted.
      </Empty>
    ) : (
      <Failed what="The trigger did not load" error={shown.error} retry={() => void shown.refetch()} />
    );
  }
  const { trigger } = shown.data;
  return (
    <>
      <header className="memory-file-head">
        <button type="button" className="button quiet icon small memory-back" aria-label="All triggers" onClick={close}>
          <span className="turn back">
            <Icon name="chevron" />
          </span>
        </button>
        <h2 className="truncate grow">{trigger.name}</h2>
        {may && <Actions trigger={trigger} gone={close} />}
      </header>
      <div className="memory-body stack">
        <Facts trigger={trigger} />
        {trigger.notice && <p className="notice warn">{trigger.notice}</p>}
        {trigger.lastError && <p className="notice bad">{trigger.lastError}</p>}
        <Secrets shown={shown.data} />
        <Firings firings={shown.data.firings} />
      </div>
    </>
  );
}

function Facts({ trigger }: { trigger: Trigger }) {
  const state = stateOf(trigger);
  return (
    <dl className="facts">
      <div>
        <dt>State</dt>
        <dd>
          <span className={`status ${state.look}`}>{state.label}</span>
        </dd>
      </div>
      <div>
        <dt>Fires</dt>
        <dd>{trigger.when}</dd>
      </div>
      <div>
        <dt>Next</dt>
        <dd>{nextOf(trigger)}</dd>
      </div>
      <div>
        <dt>Then it</dt>
        <dd>{doesOf(trigger)}</dd>
      </div>
    </dl>
  );
}

/** Shown to who may change the trigger, once they ask: people look over shoulders. */
function Secrets({ shown }: { shown: TriggerShown }) {
  const [open, setOpen] = useState(false);
  const secrets = ([["Address", shown.webhookUrl], ["Signing secret", shown.signingSecret]] as const).filter(([, value]) => value !== undefined);
  if (secrets.length === 0) return null;
  return (
    <section className="schema" aria-label="Secrets">
      <div>
        <button type="button" className="button small" aria-expanded={open} onClick={() => setOpen(!open)}>
          <Icon name="key" size={14} /> {open ? "Hide address and secrets" : "Show address and secrets"}
        </button>
      </div>
      {open &&
        secrets.map(([label, value]) => (
          <div key={label}>
            <span className="muted small">{label}</span>
            <div className="row">
              <code className="token grow" aria-label={label} role="group">
                {value}
              </code>
              <CopyButton text={() => value ?? ""} label={`Copy: ${label}`} className="button quiet icon small" />
            </div>
          </div>
        ))}
    </section>
  );
}

function Firings({ firings }: { firings: readonly Firing[] }) {
  return (
    <section className="schema" aria-label="Newest firings">
      <h3>Newest firings</h3>
      {firings.length === 0 && <p className="muted small">It has not fired yet.</p>}
      <ul className="plain settings-list">
        {firings.map((firing) => (
          <li key={firing.id} className="row wrap trigger-firing">
            <span className={`status ${firingLook[firing.status]}`}>{firing.status}</span>
            <span className="grow truncate">{firing.error || firing.activitySummary}</span>
            {firing.sessionId && (
              <Link to="/sessions/$sessionId" params={{ sessionId: firing.sessionId }} className="small">
                Conversation
              </Link>
            )}
            {firing.runId && (
              <Link to="/runs/$runId" params={{ runId: firing.runId }} className="small">
                Run
              </Link>
            )}
            <span className="muted small">
              <Ago at={firing.createdAt} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Actions({ trigger, gone }: { trigger: Trigger; gone: () => void }) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const refresh = () => client.invalidateQueries({ queryKey: ["triggers"] });
  const act = async (what: () => Promise<unknown>, done: string): Promise<void> => {
    setBusy(true);
    try {
      await what();
      toast(done);
    } catch (error) {
      const stale = error instanceof ApiError && (error.status === 409 || error.status === 412);
      toast(stale ? "It was changed meanwhile, perhaps by the agent. This is what it is now; do it again if you still mean it." : explain(error), { bad: true });
    }
    await refresh();
    setBusy(false);
  };
  return (
    <>
      <button type="button" className="button small" disabled={busy} onClick={() => void act(() => fireTrigger(trigger.id), "It fires.")}>
        Fire now
      </button>
      {!trigger.mergedInto && (
        <button
          type="button"
          className="button small"
          disabled={busy}
          onClick={() => void act(() => switchTrigger(trigger.id, !trigger.enabled, trigger.updatedAt), trigger.enabled ? "It is off." : "It is on.")}
        >
          {trigger.enabled ? "Switch off" : "Switch on"}
        </button>
      )}
      <button type="button" className="button quiet icon small" aria-label="Delete the trigger" title="Delete" onClick={() => setDeleting(true)}>
        <Icon name="trash" size={15} />
      </button>
      <Confirm
        open={deleting}
        onClose={() => setDeleting(false)}
        title={`Delete ${trigger.name}?`}
        action="Delete the trigger"
        run={async () => {
          await deleteTrigger(trigger.id);
          gone();
          await refresh();
        }}
      >
        The record of its firings goes with it. What it has started goes on.
      </Confirm>
    </>
  );
}
