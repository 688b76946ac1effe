import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { queries } from "../api/operations.ts";
import type { Run } from "../api/types.ts";
import { duration, short, ticking } from "../ui/format.ts";
import { Empty, Failed, SkeletonRows } from "../ui/state.tsx";
import { Ago, useNow } from "../ui/time.tsx";
import { elapsed, isLive, statusLook } from "./words.ts";

export interface RunFilter {
  agentId?: string;
  sessionId?: string;
  status?: string;
}

export function RunsTable({ filter, cleared }: { filter: RunFilter; cleared?: () => void }) {
  const list = useInfiniteQuery(queries.runs(filter));
  const agents = useQuery(queries.agents());
  const names = useMemo(() => new Map((agents.data ?? []).map((agent) => [agent.id, agent.definition.name])), [agents.data]);
  const runs = useMemo(() => list.data?.pages.flatMap((page) => page.runs) ?? [], [list.data]);
  const now = useNow(1_000, runs.some(isLive));
  if (list.isPending) return <SkeletonRows rows={8} label="Loading the runs" />;
  if (list.isError) return <Failed what="The runs did not load" error={list.error} retry={() => void list.refetch()} />;
  if (runs.length === 0) {
    return filter.status || (cleared && filter.agentId) ? (
      <Empty
        icon="runs"
        title="No run fits"
        action={
          cleared && (
            <button type="button" className="button" onClick={cleared}>
              Show all runs
            </button>
          )
        }
      >
        No run has this state here.
      </Empty>
    ) : (
      <Empty icon="runs" title="No runs yet" action={<Link to="/" className="button">Start a conversation</Link>}>
        Every turn of an agent is a run: what it did, how long it took and what it used stands here.
      </Empty>
    );
  }
  return (
    <>
      <div className="card table-wrap">
        <table className="list runs">
          <thead>
            <tr>
              <th>Run</th>
              <th>State</th>
              <th className="wide">Agent</th>
              <th className="number">Took</th>
              <th className="number wide">Tokens</th>
              <th className="number">Began</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <RunRow key={run.id} run={run} agent={names.get(run.agentId ?? "") ?? ""} now={now} />
            ))}
          </tbody>
        </table>
      </div>
      {list.hasNextPage && (
        <button type="button" className="button quiet list-end" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show older runs
        </button>
      )}
    </>
  );
}

function RunRow({ run, agent, now }: { run: Run; agent: string; now: number }) {
  const navigate = useNavigate();
  const took = elapsed(run, now);
  const status = statusLook[run.status];
  return (
    <tr
      className="link"
      onClick={(event) => {
        if (!(event.target as Element).closest("a")) void navigate({ to: "/runs/$runId", params: { runId: run.id } });
      }}
    >
      <td className="run-title">
        <Link to="/runs/$runId" params={{ runId: run.id }} className="truncate" data-item>
          {run.title || run.kind}
        </Link>
      </td>
      <td>
        <span className={`status ${status.look}`}>{status.label}</span>
      </td>
      <td className="wide muted truncate">{agent}</td>
      <td className="number">{took === undefined ? "" : run.finishedAt ? duration(took) : ticking(took)}</td>
      <td className="number wide">{run.usage ? short(run.usage.total + (run.usage.children?.total ?? 0)) : ""}</td>
      <td className="number muted">
        <Ago at={run.createdAt} />
      </td>
    </tr>
  );
}
