// The list of conversations.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { queries } from "../api/operations.ts";
import type { Session } from "../api/types.ts";
import { rank } from "../frame/match.ts";
import { Icon } from "../ui/icon.tsx";
import { Empty, Failed, SkeletonRows } from "../ui/state.tsx";
import { Ago } from "../ui/time.tsx";

export const sessionTitle = (session: Pick<Session, "title">): string => session.title || "Untitled conversation";

export function SessionList({ agentId }: { agentId?: string }) {
  const list = useInfiniteQuery(queries.sessions(agentId ? { agentId } : {}));
  const agents = useQuery(queries.agents());
  const [filter, setFilter] = useState("");
  const names = useMemo(() => new Map((agents.data ?? []).map((agent) => [agent.id, agent.definition.name])), [agents.data]);
  const all = useMemo(() => list.data?.pages.flatMap((page) => page.sessions) ?? [], [list.data]);
  const shown = useMemo(
    () => rank(filter, all, (session) => `${sessionTitle(session)} ${names.get(session.agentId) ?? ""}`),
    [filter, all, names],
  );
  if (list.isPending) return <SkeletonRows rows={8} height={54} label="Loading the conversations" />;
  if (list.isError) return <Failed what="The conversations did not load" error={list.error} retry={() => void list.refetch()} />;
  if (all.length === 0) {
    return (
      <Empty icon="chat" title="No conversations yet">
        Everything you say to an agent is kept here, and goes on where you left it.
      </Empty>
    );
  }
  return (
    <>
      <div className="list-filter">
        <Icon name="search" size={14} />
        <input
          type="search"
          aria-label="Filter the conversations"
          placeholder="Filter"
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
      </div>
      <ul className="plain session-list">
        {shown.map((session) => (
          <li key={session.id}>
            <SessionLink session={session} agent={names.get(session.agentId) ?? ""} />
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p className="muted small list-end">No conversation here is called “{filter}”.</p>}
      {list.hasNextPage && (
        <button type="button" className="button quiet list-end" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show older ones
        </button>
      )}
    </>
  );
}

function SessionLink({ session, agent }: { session: Session; agent: string }) {
  return (
    <Link
      to="/sessions/$sessionId"
      params={{ sessionId: session.id }}
      className="session-link"
      activeProps={{ "aria-current": "page" }}
      data-item
    >
      <span className="truncate session-title">{sessionTitle(session)}</span>
      <span className="session-time">
        <Ago at={session.activity?.messageAt || session.updatedAt} />
      </span>
      <span className="muted small truncate">{agent}</span>
      <span className="session-state">
        {session.status === "streaming" && <span className="status live">working</span>}
        {session.status === "error" && <span className="status bad">failed</span>}
      </span>
    </Link>
  );
}
