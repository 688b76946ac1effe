// The panel at the right of a transcript: one thing in detail, while the conversation goes on beside it. Its address is part of
// the page's, so that a reload or a shared link shows the same.
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef, type ReactNode } from "react";
import { queries } from "../api/operations.ts";
import type { SessionEvent, ToolCallEvent, ToolResultEvent } from "../api/types.ts";
import { duration, moment } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { Empty, Failed, SkeletonRows } from "../ui/state.tsx";
import { CallData } from "./call-data.tsx";
import { wording } from "./words.ts";

/** What is shown in detail: a call by its id, or a run. */
export interface Detail {
  call?: string;
  run?: string;
}

const RunDetail = lazy(() => import("../runs/run-page.tsx").then((module) => ({ default: module.RunDetail })));

export function Panel({ sessionId, detail, events }: { sessionId: string; detail: Detail; events: readonly SessionEvent[] }) {
  if (detail.call !== undefined) return <CallPanel sessionId={sessionId} id={detail.call} events={events} />;
  if (detail.run !== undefined) return <RunPanel sessionId={sessionId} runId={detail.run} />;
  return null;
}

function Frame({ sessionId, title, whole, children }: { sessionId: string; title: ReactNode; whole?: ReactNode; children: ReactNode }) {
  const navigate = useNavigate();
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    box.current?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const typing = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (event.key !== "Escape" || event.defaultPrevented || typing || document.querySelector("dialog[open]")) return;
      void navigate({ to: "/sessions/$sessionId", params: { sessionId }, search: {} });
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [navigate, sessionId]);
  return (
    <aside className="panel" aria-label="Details" ref={box} tabIndex={-1}>
      <div className="panel-head">
        <h2 className="truncate">{title}</h2>
        <span className="grow" />
        {whole}
        <Link to="/sessions/$sessionId" params={{ sessionId }} search={{}} className="button quiet icon small" aria-label="Close the details" title="Close (Esc)">
          <Icon name="close" size={15} />
        </Link>
      </div>
      <div className="panel-body" tabIndex={0}>{children}</div>
    </aside>
  );
}

function CallPanel({ sessionId, id, events }: { sessionId: string; id: string; events: readonly SessionEvent[] }) {
  let call: ToolCallEvent | undefined;
  let result: ToolResultEvent | undefined;
  let at = 0;
  let ended = 0;
  for (const { event, createdAt } of events) {
    if (event.type === "tool_call" && event.id === id) [call, at] = [event, createdAt];
    else if (event.type === "tool_result" && event.toolCallId === id) [result, ended] = [event, createdAt];
  }
  if (!call) {
    return (
      <Frame sessionId={sessionId} title="Call">
        <Empty icon="tool" title="This call is not on the page">
          It is further up in the conversation: scroll there, and it appears here.
        </Empty>
      </Frame>
    );
  }
  const words = wording(call);
  return (
    <Frame sessionId={sessionId} title={words.object ? `${words.verb} ${words.object}` : words.verb}>
      <p className="muted small">
        {moment(at)}
        {result ? `, took ${duration(result.meta?.durationMs ?? ended - at)}` : ", running"}
      </p>
      <CallData call={call} result={result} />
    </Frame>
  );
}

function RunPanel({ sessionId, runId }: { sessionId: string; runId: string }) {
  const run = useQuery(queries.run(runId));
  const whole = (
    <Link to="/runs/$runId" params={{ runId }} className="small">
      Whole page
    </Link>
  );
  return (
    <Frame sessionId={sessionId} title={run.data?.title || "Run"} whole={whole}>
      {run.isError ? (
        <Failed what="The run did not load" error={run.error} retry={() => void run.refetch()} />
      ) : (
        <Suspense fallback={<SkeletonRows rows={5} label="Loading the run" />}>
          {run.data ? <RunDetail run={run.data} /> : <SkeletonRows rows={5} label="Loading the run" />}
        </Suspense>
      )}
    </Frame>
  );
}
