// One agent: its head and its tabs.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useNavigate, useParams } from "@tanstack/react-router";
import { Suspense, useState } from "react";
import { deleteAgent, queries, updateAgent } from "../api/operations.ts";
import type { Agent } from "../api/types.ts";
import { SessionList } from "../chat/session-list.tsx";
import { RunsTable } from "../runs/table.tsx";
import { Confirm } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { Empty, Failed, SkeletonRows } from "../ui/state.tsx";
import { useTitle } from "../ui/title.ts";
import { toast } from "../ui/toast.tsx";
import { AgentForm, type AgentFields } from "./form.tsx";
import { definitionOf } from "./new-page.tsx";
import { AgentStanding } from "./standing.tsx";

const tabs = [
  { to: "/agents/$agentId", label: "Build" },
  { to: "/agents/$agentId/tools", label: "Tools" },
  { to: "/agents/$agentId/memory", label: "Memory" },
  { to: "/agents/$agentId/triggers", label: "Triggers" },
  { to: "/agents/$agentId/runs", label: "Runs" },
  { to: "/agents/$agentId/sessions", label: "Sessions" },
  { to: "/agents/$agentId/sharing", label: "Sharing" },
] as const;

const useAgentId = (): string => useParams({ from: "/app/agents/$agentId" }).agentId;

export function AgentPage() {
  const agentId = useAgentId();
  const agent = useQuery(queries.agent(agentId));
  useTitle(agent.data?.agent.definition.name ?? "Agent");
  if (agent.isError && !agent.data) {
    return (
      <div className="page">
        {"code" in agent.error && agent.error.code === "not_found" ? (
          <Empty whole icon="agent" title="There is no such agent" action={<Link to="/agents" className="button">All agents</Link>}>
            It was deleted, or it belongs to somebody else.
          </Empty>
        ) : (
          <Failed whole what="The agent did not load" error={agent.error} retry={() => void agent.refetch()} />
        )}
      </div>
    );
  }
  return (
    <div className="page">
      <div className="page-head tabbed">
        <h1 className="truncate">{agent.data?.agent.definition.name ?? "\u00a0"}</h1>
        {agent.data && <AgentStanding agent={agent.data.agent} />}
        <span className="grow" />
        <Link to="/" search={{ agent: agentId }} className="button primary">
          <Icon name="chat" /> Chat
        </Link>
      </div>
      <nav className="tabs" aria-label="Agent">
        {tabs.map((tab) => (
          <Link key={tab.to} to={tab.to} params={{ agentId }} activeOptions={{ exact: true, includeSearch: false }} activeProps={{ "aria-current": "page" }}>
            {tab.label}
          </Link>
        ))}
      </nav>
      <Suspense fallback={<SkeletonRows />}>
        <Outlet />
      </Suspense>
    </div>
  );
}

export function BuildTab() {
  const agentId = useAgentId();
  const agent = useQuery(queries.agent(agentId));
  if (!agent.data) return <SkeletonRows rows={5} height={64} label="Loading the agent" />;
  // A change from elsewhere makes a new form, unless this one has been touched since.
  return <Build key={agent.data.agent.updatedAt} agent={agent.data.agent} prompt={agent.data.systemPromptMarkdown} />;
}

function Build({ agent, prompt }: { agent: Agent; prompt: string }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [deleting, setDeleting] = useState(false);
  const { definition } = agent;
  const save = async (fields: AgentFields): Promise<void> => {
    const { reasoningLevel: _, ...kept } = definition;
    await updateAgent(agent.id, { ...kept, ...definitionOf(fields, definition.toolApproval?.tools) });
    await client.invalidateQueries({ queryKey: ["agents"] });
    toast("Saved. The next turn uses it.");
  };
  return (
    <div className="narrow-column">
      <AgentForm
        initial={{
          name: definition.name, systemPrompt: prompt, modelProvider: definition.modelProvider, model: definition.model,
          reasoningLevel: definition.reasoningLevel ?? "",
          ...(agent.accessRole === "owner" ? { askFirst: definition.toolApproval?.default === "required" ? "effects" : "never", mcpServers: [...(definition.mcpServers ?? [])].sort() } : {}),
        }}
        save={save}
        action="Save"
      >
        <button type="button" className="button danger" onClick={() => setDeleting(true)}>
          <Icon name="trash" /> Delete
        </button>
      </AgentForm>
      <Confirm
        open={deleting}
        onClose={() => setDeleting(false)}
        title={`Delete ${definition.name}?`}
        action="Delete the agent"
        run={async () => {
          await deleteAgent(agent.id);
          await navigate({ to: "/agents" });
          void client.invalidateQueries();
        }}
      >
        Its memory, its conversations and its runs are deleted with it, for good.
      </Confirm>
    </div>
  );
}

export function AgentRunsTab() {
  const agentId = useAgentId();
  return <RunsTable filter={{ agentId }} />;
}

export function AgentSessionsTab() {
  const agentId = useAgentId();
  return (
    <div className="narrow-column">
      <SessionList agentId={agentId} />
    </div>
  );
}
