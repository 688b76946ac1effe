// One row of the transcript.
import { Link } from "@tanstack/react-router";
import { memo, useState } from "react";
import { attachmentAddress } from "../api/operations.ts";
import type { MessageEvent } from "../api/types.ts";
import { CopyButton } from "../ui/copy.tsx";
import { bytes, duration, moment, time } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { Markdown } from "../ui/markdown.tsx";
import { CallData } from "./call-data.tsx";
import type { Call, Row } from "./rows.ts";
import { summary, wording } from "./words.ts";

export const RowView = memo(function RowView({ row, sessionId, agentName }: { row: Row; sessionId: string; agentName: string }) {
  switch (row.kind) {
    case "day":
      return (
        <div className="day">
          <span>{row.label}</span>
        </div>
      );
    case "message":
      return <Message message={row.message} at={row.at} sessionId={sessionId} agentName={agentName} />;
    case "calls":
      return <Calls calls={row.calls} byUser={row.byUser} sessionId={sessionId} />;
    case "error":
      return (
        <div className="row-error" role="note">
          <Icon name="error" />
          <div>
            <strong>The turn failed</strong>
            <div>{row.error.message}</div>
          </div>
        </div>
      );
    case "pending":
      return (
        <article className="message user pending" aria-label="You, sending">
          <div className="bubble">
            <Markdown text={row.pending.text} />
            {row.pending.files.length > 0 && (
              <ul className="plain files">
                {row.pending.files.map((file) => (
                  <li key={file.name} className="chip">
                    <Icon name="file" size={12} /> {file.name}
                  </li>
                ))}
              </ul>
            )}
          </div>
          <footer className="message-foot">Sending…</footer>
        </article>
      );
  }
});

function Message({ message, at, sessionId, agentName }: { message: MessageEvent; at: number; sessionId: string; agentName: string }) {
  const who = message.role === "user" ? "user" : message.role === "assistant" ? "agent" : "system";
  const label = { user: "You", agent: agentName, system: "System" }[who];
  return (
    <article className={`message ${who}`} aria-label={`${label}, ${time(at)}`}>
      <div className="bubble">
        <Markdown text={message.content} />
        {message.attachments && message.attachments.length > 0 && (
          <ul className="plain files">
            {message.attachments.map((file) => (
              <li key={file.id}>
                <a className="chip" href={attachmentAddress(sessionId, file.id)} download={file.name}>
                  <Icon name="file" size={12} /> {file.name} <span className="muted">{bytes(file.size)}</span>
                </a>
              </li>
            ))}
          </ul>
        )}
      </div>
      <Foot message={message} at={at} />
    </article>
  );
}

function Foot({ message, at }: { message: MessageEvent; at: number }) {
  const meta = message.meta;
  return (
    <footer className="message-foot">
      <time dateTime={new Date(at).toISOString()} title={moment(at)}>
        {time(at)}
      </time>
      {meta?.model && <span className="mono">{meta.model}</span>}
      {message.role === "assistant" && meta?.durationMs !== undefined && <span>{duration(meta.durationMs)}</span>}
      <CopyButton text={() => message.content} label="Copy the text" className="button quiet icon small" />
    </footer>
  );
}

/** More calls than this fold into one line. */
const foldFrom = 4;

function Calls({ calls, byUser, sessionId }: { calls: readonly Call[]; byUser: boolean; sessionId: string }) {
  const running = calls.some((call) => call.result === undefined);
  const failed = calls.filter((call) => call.result?.error).length;
  const [open, setOpen] = useState<boolean>();
  if (calls.length < foldFrom) {
    return (
      <div className="calls">
        {calls.map((call) => (
          <CallLine key={call.id} call={call} byUser={byUser} sessionId={sessionId} />
        ))}
      </div>
    );
  }
  const shown = open ?? false;
  return (
    <div className="calls">
      <button type="button" className="call-line" aria-expanded={shown} onClick={() => setOpen(!shown)}>
        <span className="turn" data-open={shown}>
          <Icon name="chevron" size={14} />
        </span>
        <span className="truncate">{summary(calls)}</span>
        {failed > 0 && <span className="status bad">{failed} failed</span>}
        {running && <span className="status live">running</span>}
      </button>
      {shown && (
        <div className="call-group">
          {calls.map((call) => (
            <CallLine key={call.id} call={call} byUser={byUser} sessionId={sessionId} />
          ))}
        </div>
      )}
    </div>
  );
}

function CallLine({ call, byUser, sessionId }: { call: Call; byUser: boolean; sessionId: string }) {
  const [open, setOpen] = useState(false);
  const words = wording(call.call);
  const took = call.result?.meta?.durationMs ?? (call.finishedAt === undefined ? undefined : call.finishedAt - call.at);
  const failed = Boolean(call.result?.error);
  return (
    <div className="call" data-open={open}>
      <button type="button" className="call-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={words.icon} size={15} />
        {byUser && <span className="chip">You</span>}
        <span className="call-words truncate">
          {words.verb} {words.object && <code>{words.object}</code>}
        </span>
        {took !== undefined && <span className="call-time">{duration(took)}</span>}
        <span className={`call-mark ${failed ? "bad" : call.result ? "ok" : "live"}`}>
          {failed ? <Icon name="close" size={13} /> : call.result ? <Icon name="check" size={13} /> : <span className="status live" />}
          <span className="visually-hidden">{failed ? "failed" : call.result ? "done" : "running"}</span>
        </span>
      </button>
      {call.children.length > 0 && (
        <ul className="plain call-children" aria-label="Started by this call">
          {call.children.map((child) => (
            <li key={child.runId} className="row wrap small">
              <Icon name="runs" size={13} />
              <Link to="/sessions/$sessionId" params={{ sessionId }} search={{ run: child.runId }}>
                {child.title || "A child"}
              </Link>
              {child.sessionId && (
                <Link to="/sessions/$sessionId" params={{ sessionId: child.sessionId }} className="muted">
                  its conversation
                </Link>
              )}
            </li>
          ))}
        </ul>
      )}
      {open && (
        <div className="call-body">
          <CallData call={call.call} result={call.result} />
          <Link to="/sessions/$sessionId" params={{ sessionId }} search={{ call: call.id }} className="small">
            Open beside
          </Link>
        </div>
      )}
    </div>
  );
}
