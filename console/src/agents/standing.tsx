// What an agent does at this moment, in a word: an agent that waits for a person is not at work.
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { queries } from "../api/operations.ts";
import type { Agent, Approval } from "../api/types.ts";

export function standingOf(agent: Pick<Agent, "id" | "activity">, pending: readonly Pick<Approval, "agentId">[]): "waits" | "works" | "rests" {
  if (pending.some((approval) => approval.agentId === agent.id)) return "waits";
  return agent.activity?.busy ? "works" : "rests";
}

/** `inside` says that something around it is a link already. */
export function AgentStanding({ agent, inside = false }: { agent: Agent; inside?: boolean }) {
  const list = useInfiniteQuery(queries.approvals({ status: "pending" }));
  switch (standingOf(agent, list.data?.pages.flatMap((page) => page.approvals) ?? [])) {
    case "waits":
      return inside ? (
        <span className="status warn">waits for you</span>
      ) : (
        <Link to="/approvals" className="status warn">
          waits for you
        </Link>
      );
    case "works":
      return <span className="status live">working</span>;
    case "rests":
      return null;
  }
}
