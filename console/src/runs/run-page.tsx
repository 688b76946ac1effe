// One run: where it stands in words, its tree as bars over time, what it used.
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { cancelRun, queries, runStream, signalRun } from "../api/operations.ts";
import { EventStream } from "../api/sse.ts";
import type { Run } from "../api/types.ts";
import { PlanCard } from "../chat/plan.tsx";
import { cost, usePrice } from "../chat/cost.ts";
import { count, dollars, duration, moment } from "../ui/format.ts";
import { Field } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { Empty, explain, Failed, SkeletonRows } from "../ui/state.tsx";
import { useNow } from "../ui/time.tsx";
import { useTitle } from "../ui/title.ts";
import { toast } from "../ui/toast.tsx";
import { elapsed, isLive, originWords, standing, statusLook } from "./words.ts";

/** The runs of a tree, kept current by the run's stream while any of them lives. */
function useTree(run: Run | undefined): readonly Run[] {
  const root = run?.rootRunId ?? "";
  const list = useInfiniteQuery({ ...queries.runs({ rootRunId: root }), enabled: root !== "" });
  const [news, setNews] = useState<ReadonlyMap<string, Run>>(new Map());
  const client = useQueryClient();
  const live = run !== undefined && isLive(run);
  useEffect(() => {
    if (root === "" || !live) return;
    const stream = new EventStream({
      url: () => runStream(root),
      onMessage: (message) => {
        if (message.event !== "run") return;
        const next = JSON.parse(message.data) as Run;
        setNews((before) => new Map(before).set(next.id, next));
        client.setQueryData(queries.run(next.id).queryKey, next);
      },
      onState: () => undefined,
      onRefused: () => undefined,
    });
    return () => stream.close();
  }, [root, live, client]);
  return useMemo(() => {
    const runs = new Map((list.data?.pages.flatMap((page) => page.runs) ?? []).map((entry) => [entry.id, entry]));
    if (run) runs.set(run.id, run);
    for (const [id, entry] of news) if ((runs.get(id)?.updatedAt ?? 0) <= entry.updatedAt) runs.set(id, entry);
    return [...runs.values()];
  }, [list.data, news, run]);
}

export function RunPage() {
  const { runId } = useParams({ from: "/app/runs/$runId" });
  const run = useQuery(queries.run(runId));
  const tree = useTree(run.data);
  useTitle(run.data?.title || "Run");
  if (run.isPending) {
    return (
      <div className="page">
        <SkeletonRows rows={6} height={48} label="Loading the run" />
      </div>
    );
  }
  if (run.isError) {
    return (
      <div className="page">
        {"code" in run.error && run.error.code === "not_found" ? (
          <Empty whole icon="runs" title="There is no such run" action={<Link to="/runs" className="button">All runs</Link>}>
            It was deleted with its conversation, or it belongs to somebody else.
          </Empty>
        ) : (
          <Failed whole what="The run did not load" error={run.error} retry={() => void run.refetch()} />
        )}
      </div>
    );
  }
  return <RunView run={tree.find((entry) => entry.id === runId) ?? run.data} tree={tree} />;
}

function RunView({ run, tree }: { run: Run; tree: readonly Run[] }) {
  const live = isLive(run);
  const now = useNow(1_000, live);
  const status = statusLook[run.status];
  const [busy, setBusy] = useState(false);
  const client = useQueryClient();
  const cancel = async (): Promise<void> => {
    setBusy(true);
    try {
      await cancelRun(run.id);
      await client.invalidateQueries({ queryKey: ["runs"] });
    } catch (error) {
      toast(`The run goes on: ${explain(error)}`, { bad: true });
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="page">
      <div className="page-head">
        <h1 className="truncate">{run.title || run.kind}</h1>
        <span className={`status ${status.look}`}>{status.label}</span>
        <span className="grow" />
        {run.sessionId && (
          <Link to="/sessions/$sessionId" params={{ sessionId: run.sessionId }} className="button">
            <Icon name="chat" /> Conversation
          </Link>
        )}
        {live && (
          <button type="button" className="button danger" disabled={busy} onClick={() => void cancel()}>
            <Icon name="stop" /> Cancel
          </button>
        )}
        <p className="about" role="status">
          {standing(run, now)}
        </p>
      </div>
      <Details run={run} tree={tree} now={now} />
    </div>
  );
}

function Details({ run, tree, now }: { run: Run; tree: readonly Run[]; now: number }) {
  return (
    <div className="stack">
      {run.wait?.answerWith && <Answer run={run} signal={run.wait.answerWith} />}
      {run.plan && <PlanCard plan={run.plan} />}
      <Timeline tree={tree} current={run.id} now={now} />
      <Facts run={run} now={now} />
    </div>
  );
}

/** Gives a run the signal that it waits for. What is written is sent as JSON when it is, and as a text otherwise. */
function Answer({ run, signal }: { run: Run; signal: string }) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const client = useQueryClient();
  const answer = async (): Promise<void> => {
    setBusy(true);
    try {
      const { delivered } = await signalRun(run.id, signal, valueOf(text));
      if (!delivered) toast("The run does not wait for this any more.", { bad: true });
      await client.invalidateQueries({ queryKey: ["runs"] });
    } catch (error) {
      toast(`The run was not answered: ${explain(error)}`, { bad: true });
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="card pad stack"
      aria-label="Answer"
      onSubmit={(event) => {
        event.preventDefault();
        void answer();
      }}
    >
      <Field label={run.wait?.label || `The run waits for “${signal}”`} help="A text, or any value as JSON.">
        <input className="input" value={text} onChange={(event) => setText(event.target.value)} />
      </Field>
      <div className="row">
        <button type="submit" className="button primary" disabled={busy}>
          Answer
        </button>
      </div>
    </form>
  );
}

/** A JSON value, or the text itself. */
export function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A run beside its conversation. */
export function RunDetail({ run: first }: { run: Run }) {
  const tree = useTree(first);
  const run = tree.find((entry) => entry.id === first.id) ?? first;
  const now = useNow(1_000, isLive(run));
  return (
    <>
      <p className="row">
        <span className={`status ${statusLook[run.status].look}`}>{statusLook[run.status].label}</span>
        <span className="muted small" role="status">
          {standing(run, now)}
        </span>
      </p>
      <Details run={run} tree={tree} now={now} />
    </>
  );
}

function Timeline({ tree, current, now }: { tree: readonly Run[]; current: string; now: number }) {
  const start = Math.min(...tree.map((run) => run.createdAt));
  const end = Math.max(...tree.map((run) => run.finishedAt || now), start + 1);
  const ordered = useMemo(() => inTreeOrder(tree), [tree]);
  const place = (at: number): number => ((at - start) / (end - start)) * 100;
  return (
    <section className="card" aria-label="Timeline">
      <div className="timeline-head">
        <h2>Timeline</h2>
        <span className="muted small">{duration(end - start)}</span>
      </div>
      <ul className="plain timeline">
        {ordered.map((run) => {
          const began = run.startedAt || run.finishedAt || now;
          const finish = run.finishedAt || now;
          return (
            <li key={run.id} data-current={run.id === current}>
              <span className="truncate timeline-name" style={{ paddingLeft: run.depth * 14 }}>
                {run.id === current ? (
                  run.title || run.kind
                ) : (
                  <Link to="/runs/$runId" params={{ runId: run.id }}>
                    {run.title || run.kind}
                  </Link>
                )}
              </span>
              <span className="timeline-track">
                <span className="bar waiting" style={{ left: `${place(run.createdAt)}%`, width: `${place(began) - place(run.createdAt)}%` }} />
                <span
                  className={`bar ${statusLook[run.status].look}`}
                  style={{ left: `${place(began)}%`, width: `max(3px, ${place(finish) - place(began)}%)` }}
                />
              </span>
              <span className="small muted number">{duration(finish - run.createdAt)}</span>
              <span className="visually-hidden">{statusLook[run.status].label}</span>
            </li>
          );
        })}
      </ul>
      <p className="muted small timeline-key">
        <span className="bar waiting" /> waiting for a worker <span className="bar" /> working
      </p>
    </section>
  );
}

/** Parents before their children, each level in the order in which it was made. */
export function inTreeOrder(runs: readonly Run[]): Run[] {
  const children = new Map<string, Run[]>();
  const ids = new Set(runs.map((run) => run.id));
  for (const run of [...runs].sort((a, b) => a.createdAt - b.createdAt)) {
    const parent = run.parentRunId && ids.has(run.parentRunId) ? run.parentRunId : "";
    children.set(parent, [...(children.get(parent) ?? []), run]);
  }
  const visit = (parent: string): Run[] => (children.get(parent) ?? []).flatMap((run) => [run, ...visit(run.id)]);
  return visit("");
}

function Facts({ run, now }: { run: Run; now: number }) {
  const price = usePrice(run.provider, run.model);
  const took = elapsed(run, now);
  const facts: [string, string][] = [
    ["Began by", originWords(run.origin)],
    ["Created", moment(run.createdAt)],
    ["Started", run.startedAt ? moment(run.startedAt) : "not yet"],
    ["Ended", run.finishedAt ? moment(run.finishedAt) : "not yet"],
    ["Worked for", took === undefined ? "not yet" : duration(took)],
  ];
  if (run.model) facts.push(["Model", `${run.provider}/${run.model}`]);
  if (run.usage) {
    facts.push(
      ["Tokens read", count(run.usage.input)],
      ["Tokens written", count(run.usage.output)],
      ["From the cache", count(run.usage.cacheRead)],
      ["Into the cache", count(run.usage.cacheWrite)],
    );
    if (run.usage.children) facts.push(["Tokens of children", `${count(run.usage.children.total)} in ${count(run.usage.children.runs)} runs`]);
  }
  const money = run.usage ? cost(run.usage, price) : undefined;
  if (money !== undefined) facts.push(["Cost, by list price", dollars(money)]);
  for (const owed of run.unmetObligations ?? []) facts.push(["Still owed", [owed.kind, ...(owed.steps ?? [])].join(": ")]);
  return (
    <section className="card pad" aria-label="Facts">
      <dl className="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
        <div>
          <dt>Id</dt>
          <dd className="mono">{run.id}</dd>
        </div>
      </dl>
    </section>
  );
}
