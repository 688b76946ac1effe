import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { acceptInvite, declineInvite, queries } from "../api/operations.ts";
import type { Agent } from "../api/types.ts";
import { Icon } from "../ui/icon.tsx";
import { Empty, explain, Failed, Skeleton } from "../ui/state.tsx";
import { Ago } from "../ui/time.tsx";
import { useTitle } from "../ui/title.ts";
import { toast } from "../ui/toast.tsx";
import { AgentStanding } from "./standing.tsx";

const newAgent = (
  <Link to="/agents/new" className="button primary">
    <Icon name="plus" /> New agent
  </Link>
);

export function AgentsPage() {
  useTitle("Agents");
  const agents = useQuery(queries.agents());
  return (
    <div className="page">
      <div className="page-head">
        <h1>Agents</h1>
        <span className="grow" />
        {agents.isSuccess && agents.data.length > 0 && newAgent}
      </div>
      <Invites />
      {agents.isPending ? (
        <div className="agent-grid" role="status" aria-label="Loading the agents">
          {[0, 1, 2].map((i) => (
            <div key={i} className="card agent-card">
              <Skeleton width="50%" height={16} />
              <Skeleton width="70%" />
              <Skeleton width="40%" />
            </div>
          ))}
        </div>
      ) : agents.isError ? (
        <Failed what="The agents did not load" error={agents.error} retry={() => void agents.refetch()} />
      ) : agents.data.length === 0 ? (
        <Empty icon="agent" title="No agents yet" action={newAgent}>
          An agent is a model with instructions and a memory of its own. Make one for each kind of work.
        </Empty>
      ) : (
        <ul className="plain agent-grid">
          {agents.data.map((agent) => (
            <li key={agent.id}>
              <AgentCard agent={agent} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** What others invited this account to, while there is any. */
function Invites() {
  const invites = useQuery(queries.invites());
  const client = useQueryClient();
  const answer = async (run: Promise<unknown>): Promise<void> => {
    await run.catch((error: unknown) => toast(explain(error)));
    await client.invalidateQueries({ queryKey: ["agents"] });
  };
  if (!invites.data?.length) return null;
  return (
    <ul className="plain card settings-list" aria-label="Invitations">
      {invites.data.map((invite) => (
        <li key={invite.agentId} className="settings-row">
          <div className="grow">
            <strong>{invite.agentName}</strong> <span className="chip">{invite.role}</span>
            <div className="mono small muted truncate">{invite.ownerAccountId}</div>
          </div>
          <button type="button" className="button primary" onClick={() => void answer(acceptInvite(invite.agentId))}>
            Accept
          </button>
          <button type="button" className="button" onClick={() => void answer(declineInvite(invite.agentId))}>
            Decline
          </button>
        </li>
      ))}
    </ul>
  );
}

function AgentCard({ agent }: { agent: Agent }) {
  const { activity, definition } = agent;
  return (
    <Link to="/agents/$agentId" params={{ agentId: agent.id }} className="card agent-card" data-item>
      <span className="row">
        <strong className="truncate grow">{definition.name}</strong>
        <AgentStanding agent={agent} inside />
      </span>
      <span className="mono small muted truncate">
        {definition.modelProvider}/{definition.model}
      </span>
      <span className="small muted">
        {activity?.messageAt ? (
          <>
            {activity.messageFrom === "user" ? "You wrote" : "Answered"} <Ago at={activity.messageAt} />
          </>
        ) : (
          <>
            Made <Ago at={agent.createdAt} />
          </>
        )}
      </span>
    </Link>
  );
}
