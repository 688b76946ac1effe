// One call that waits for a person: what will be called, exactly, and the two answers.
import { Link } from "@tanstack/react-router";
import { useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { decideApproval } from "../api/operations.ts";
import type { Approval } from "../api/types.ts";
import { Data } from "../ui/data.tsx";
import { Icon } from "../ui/icon.tsx";
import { explain } from "../ui/state.tsx";
import { Ago } from "../ui/time.tsx";
import { toast } from "../ui/toast.tsx";

export const look: Record<Approval["status"], { label: string; look: "" | "ok" | "bad" | "warn" }> = {
  pending: { label: "waits for you", look: "warn" },
  approved: { label: "approved", look: "ok" },
  rejected: { label: "rejected", look: "bad" },
  canceled: { label: "no longer asked", look: "" },
};

/** `agent` is the name of who asks; `may` says that this person decides. */
export function ApprovalCard({ approval, agent, may, link }: { approval: Approval; agent: string; may: boolean; link?: boolean }) {
  const title = useId();
  const state = look[approval.status];
  return (
    <article className="card approval" aria-labelledby={title}>
      <div className="approval-head">
        <Icon name="tool" />
        <h2 id={title}>
          {agent} {approval.inDoubt ? "was cut off in" : "wants to call"} <code>{approval.tool}</code>
        </h2>
        <span className="grow" />
        {approval.status !== "pending" && <span className={`status ${state.look}`}>{state.label}</span>}
        <span className="muted small approval-time">
          <Ago at={approval.decidedAt || approval.createdAt} />
        </span>
      </div>
      <div className="approval-body" tabIndex={0} role="group" aria-label="What is called">
        <Data label="Arguments" value={approval.arguments} inside />
      </div>
      {approval.inDoubt && (
        <p className="notice warn">
          The server stopped while this call was carried out: it may have taken effect already. Look before you have it repeated.
        </p>
      )}
      {approval.note && <p className="small">“{approval.note}”</p>}
      <div className="row wrap approval-foot">
        {approval.status === "pending" && may && <Decision approval={approval} />}
        {approval.status === "pending" && !may && <span className="muted small">Only the owner of the agent decides.</span>}
        <span className="grow" />
        {link && approval.sessionId && (
          <Link to="/sessions/$sessionId" params={{ sessionId: approval.sessionId }} className="small">
            Conversation
          </Link>
        )}
        {link && (
          <Link to="/runs/$runId" params={{ runId: approval.runId }} className="small">
            Run
          </Link>
        )}
      </div>
    </article>
  );
}

function Decision({ approval }: { approval: Approval }) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [refusing, setRefusing] = useState(false);
  const [note, setNote] = useState("");
  const decide = async (approve: boolean): Promise<void> => {
    setBusy(true);
    try {
      await decideApproval(approval.id, approve, approve ? "" : note.trim());
    } catch (error) {
      toast(`Nothing was decided: ${explain(error)}`, { bad: true });
    }
    await client.invalidateQueries({ queryKey: ["approvals"] });
    setBusy(false);
  };
  if (refusing) {
    return (
      <form
        className="row grow"
        onSubmit={(event) => {
          event.preventDefault();
          void decide(false);
        }}
      >
        <input
          className="input"
          aria-label="Why not"
          placeholder="Why not? The agent is told."
          maxLength={500}
          value={note}
          autoFocus
          onChange={(event) => setNote(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            event.stopPropagation();
            setRefusing(false);
          }}
        />
        <button type="submit" className="button danger" disabled={busy}>
          Reject
        </button>
        <button type="button" className="button quiet" onClick={() => setRefusing(false)}>
          Back
        </button>
      </form>
    );
  }
  return (
    <>
      <button type="button" className="button primary" data-item disabled={busy} onClick={() => void decide(true)}>
        <Icon name="check" /> {approval.inDoubt ? "Repeat it" : "Approve"}
      </button>
      <button type="button" className="button" disabled={busy} onClick={() => setRefusing(true)}>
        <Icon name="close" /> Reject
      </button>
    </>
  );
}
