// The card above the composer: the plan, and the run that works on this conversation now or the one that failed last.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import { Link } from "@tanstack/react-router";
import { queries, retrySession, stopSession } from "../api/operations.ts";
import type { Run, Session } from "../api/types.ts";
import { standing } from "../runs/words.ts";
import { dollars, short, ticking } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { explain } from "../ui/state.tsx";
import { useNow } from "../ui/time.tsx";
import { toast } from "../ui/toast.tsx";
import { cost, usePrice } from "./cost.ts";
import type { ModelChoice } from "./model.tsx";
import { PlanCard } from "./plan.tsx";
import type { SessionStore } from "./store.ts";
import { activityWords } from "./words.ts";

export function RunCard({ store, session, choice }: { store: SessionStore; session: Session; choice: ModelChoice | undefined }) {
  const run = useQuery(queries.latestRun(session.id));
  const { refetch } = run;
  // Whenever the conversation starts or stops working, the run that stands here is another one.
  useEffect(() => void refetch(), [session.status, refetch]);
  const streaming = session.status === "streaming";
  const plan = session.plan && (streaming || !session.plan.settledAt) ? session.plan : undefined;
  return (
    <div className="run-card-holder">
      {plan && <PlanCard plan={plan} />}
      {streaming && <Working store={store} session={session} run={run.data ?? undefined} choice={choice} />}
      {!streaming && run.data?.status === "waiting" && <Parked session={session} run={run.data} />}
      {!streaming && (session.status === "error" || run.data?.status === "canceled") && <Ended store={store} session={session} run={run.data ?? undefined} />}
    </div>
  );
}

function Working({ store, session, run, choice }: { store: SessionStore; session: Session; run: Run | undefined; choice: ModelChoice | undefined }) {
  const live = useSyncExternalStore(store.subscribeLive, store.liveSnapshot);
  const now = useNow(1_000);
  const [stopping, setStopping] = useState(false);
  const started = run && run.finishedAt === undefined ? (run.startedAt ?? run.createdAt) : undefined;
  const usage = live.usage && live.usage.total > 0 ? live.usage : run?.usage;
  // Until the run says on which model it is executed, it is that which a new turn gets.
  const priced = run?.finishedAt === undefined && run?.model ? run : choice;
  const price = usePrice(priced?.provider, priced?.model);
  const money = usage ? cost(usage, price) : undefined;
  const stop = async (): Promise<void> => {
    setStopping(true);
    try {
      await stopSession(session.id);
    } catch (error) {
      toast(`The run goes on: ${explain(error)}`, { bad: true });
      setStopping(false);
    }
  };
  return (
    <section className="run-card" aria-label="Run in progress">
      <span className="status live truncate grow">{activityWords(live.activity)}</span>
      <span className="run-figure" title="Elapsed time">
        {started === undefined ? "" : ticking(now - started)}
      </span>
      <span className="run-figure" title="Tokens so far">
        {usage && usage.total > 0 ? `${short(usage.total)} tokens` : ""}
      </span>
      {money !== undefined && (
        <span className="run-figure" title="Cost so far, by the model's list price">
          {dollars(money)}
        </span>
      )}
      {run && (
        <Link to="/sessions/$sessionId" params={{ sessionId: session.id }} search={{ run: run.id }} className="small">
          Run
        </Link>
      )}
      <button type="button" className="button small" disabled={stopping} onClick={() => void stop()}>
        <Icon name="stop" size={13} /> {stopping ? "Stopping…" : "Stop"}
      </button>
    </section>
  );
}

/** A turn that waits holds no worker: it is not at work, and says what it waits for. */
function Parked({ session, run }: { session: Session; run: Run }) {
  const asked = useInfiniteQuery(queries.approvals({ sessionId: session.id, status: "pending" }));
  const now = useNow(1_000);
  const [stopping, setStopping] = useState(false);
  const forYou = (asked.data?.pages[0]?.approvals.length ?? 0) > 0;
  const stop = async (): Promise<void> => {
    setStopping(true);
    try {
      await stopSession(session.id);
    } catch (error) {
      toast(`The run goes on: ${explain(error)}`, { bad: true });
      setStopping(false);
    }
  };
  return (
    <section className="run-card" aria-label="Run that waits">
      <span className="status warn">{forYou ? "waits for you" : "waiting"}</span>
      <span className="grow truncate muted">{forYou ? "Answer what it asks above." : standing(run, now)}</span>
      <Link to="/sessions/$sessionId" params={{ sessionId: session.id }} search={{ run: run.id }} className="small">
        Run
      </Link>
      <button type="button" className="button small" disabled={stopping} onClick={() => void stop()}>
        <Icon name="stop" size={13} /> {stopping ? "Stopping…" : "Stop"}
      </button>
    </section>
  );
}

function Ended({ store, session, run }: { store: SessionStore; session: Session; run: Run | undefined }) {
  const [busy, setBusy] = useState(false);
  const failed = session.status === "error";
  const retry = async (): Promise<void> => {
    setBusy(true);
    try {
      await retrySession(session.id);
      store.setSession({ ...session, status: "streaming" });
    } catch (error) {
      toast(`It cannot be tried again: ${explain(error)}`, { bad: true });
    } finally {
      setBusy(false);
    }
  };
  return (
    <section className={failed ? "run-card bad" : "run-card"} aria-label={failed ? "The last run failed" : "The last run was stopped"}>
      <span className={failed ? "status bad" : "status"}>{failed ? "Failed" : "Stopped"}</span>
      <span className="grow truncate" title={run?.error?.message}>
        {failed ? run?.error?.message : "The last run was stopped before it had ended."}
      </span>
      <button type="button" className="button small" disabled={busy} onClick={() => void retry()}>
        <Icon name="retry" size={13} /> Retry
      </button>
    </section>
  );
}
