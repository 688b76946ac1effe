// Where a conversation begins: choose an agent, say the first words.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { createSession, queries } from "../api/operations.ts";
import { Empty, Failed, Skeleton } from "../ui/state.tsx";
import { useTitle } from "../ui/title.ts";
import { Composer, type Draft } from "./composer.tsx";
import { sendDraft } from "./send.ts";

const remembered = "loam.agent";

function lastAgent(): string {
  try {
    return localStorage.getItem(remembered) ?? "";
  } catch {
    return "";
  }
}

/** What a conversation is called until its agent or a person names it: the beginning of its first line, cut at a word. */
export function titleOf(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  if (line.length <= 60) return line;
  return `${line.slice(0, 59).replace(/\s+\S*$/, "")}…`;
}

export function NewPage() {
  useTitle("Chat");
  const agents = useQuery(queries.agents());
  const navigate = useNavigate();
  const client = useQueryClient();
  const { agent: asked } = useSearch({ from: "/app/chat/" });
  const [chosen, setChosen] = useState(() => asked ?? lastAgent());
  // A first message that failed after its conversation was made goes into that conversation.
  const made = useRef<{ agentId: string; sessionId: string }>(undefined);
  const list = agents.data ?? [];
  const agent = list.find((candidate) => candidate.id === (asked ?? chosen)) ?? list[0];

  const send = async (draft: Draft): Promise<void> => {
    if (!agent) return;
    if (made.current?.agentId !== agent.id) {
      made.current = { agentId: agent.id, sessionId: (await createSession(agent.id, { title: titleOf(draft.text) })).sessionId };
    }
    const { sessionId } = made.current;
    await sendDraft(sessionId, draft);
    try {
      localStorage.setItem(remembered, agent.id);
    } catch {
      // Storage may be blocked: the first agent is offered again next time.
    }
    void client.invalidateQueries({ queryKey: ["sessions"] });
    await navigate({ to: "/sessions/$sessionId", params: { sessionId } });
  };

  if (agents.isError) return <Failed whole what="The agents did not load" error={agents.error} retry={() => void agents.refetch()} />;
  if (agents.isSuccess && list.length === 0) {
    return (
      <Empty
        whole
        icon="agent"
        title="Make an agent first"
        action={
          <Link to="/agents/new" className="button primary">
            New agent
          </Link>
        }
      >
        An agent is a model with instructions and a memory of its own. Conversations are with agents.
      </Empty>
    );
  }
  return (
    <div className="new-chat">
      <div className="new-chat-inner">
        <h1>What shall we work on?</h1>
        <div className="row wrap new-chat-agent">
          <label htmlFor="agent-choice" className="muted">
            With
          </label>
          {agents.isPending ? (
            <Skeleton width={180} height={32} />
          ) : (
            <select
              id="agent-choice"
              className="input"
              value={agent?.id ?? ""}
              onChange={(event) => {
                setChosen(event.target.value);
                if (asked) void navigate({ to: "/", search: {}, replace: true });
              }}
            >
              {list.map((candidate) => (
                <option key={candidate.id} value={candidate.id}>
                  {candidate.definition.name}
                </option>
              ))}
            </select>
          )}
          {agent && <span className="muted small mono truncate">{agent.definition.model}</span>}
        </div>
        <Composer id="new" send={send} busy={agent === undefined} placeholder={agent ? `Message ${agent.definition.name}` : "Message"} />
        <p className="muted small new-chat-hint">
          <kbd>Enter</kbd> sends, <kbd>Shift Enter</kbd> begins a new line, <kbd>/</kbd> comes back here.
        </p>
      </div>
    </div>
  );
}
