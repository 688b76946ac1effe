// What the agent asks in one conversation, above the composer.
import { useInfiniteQuery } from "@tanstack/react-query";
import { queries } from "../api/operations.ts";
import type { Agent, Session } from "../api/types.ts";
import { ApprovalCard } from "./card.tsx";

export function Asked({ session, agent }: { session: Session; agent: Agent | undefined }) {
  const list = useInfiniteQuery(queries.approvals({ sessionId: session.id, status: "pending" }));
  const asked = list.data?.pages.flatMap((page) => page.approvals) ?? [];
  if (asked.length === 0) return null;
  return (
    <section className="asked" aria-label="Waits for you">
      {asked.toReversed().map((approval) => (
        <ApprovalCard key={approval.id} approval={approval} agent={agent?.definition.name ?? "The agent"} may={agent?.accessRole === "owner"} />
      ))}
    </section>
  );
}
