import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { createAgent, queries } from "../api/operations.ts";
import type { AgentFields as Definition } from "../api/types.ts";
import { Failed, SkeletonRows } from "../ui/state.tsx";
import { useTitle } from "../ui/title.ts";
import { AgentForm, type AgentFields } from "./form.tsx";

/** What the server stores: fields that hold nothing are left out. `tools` are approvals of single tools, which the form leaves as they are. */
export function definitionOf(fields: AgentFields, tools?: Record<string, string>): Definition {
  const { reasoningLevel, askFirst, mcpServers, ...rest } = fields;
  return {
    ...rest, name: rest.name.trim(), model: rest.model.trim(), ...(reasoningLevel === "" ? {} : { reasoningLevel }),
    ...(mcpServers === undefined ? {} : { mcpServers: [...mcpServers] }),
    ...(askFirst === undefined ? {} : { toolApproval: { default: askFirst === "effects" ? "required" : "never", ...(tools ? { tools } : {}) } }),
  };
}

export function NewAgentPage() {
  useTitle("New agent");
  const agents = useQuery(queries.agents());
  const navigate = useNavigate();
  const client = useQueryClient();
  const save = async (fields: AgentFields): Promise<void> => {
    const { agentId } = await createAgent(definitionOf(fields));
    void client.invalidateQueries({ queryKey: ["agents"] });
    await navigate({ to: "/agents/$agentId", params: { agentId } });
  };
  // Most people have one model: the one of the newest agent is a good guess.
  const like = agents.data?.[0]?.definition;
  return (
    <div className="page narrow">
      <div className="page-head">
        <h1>New agent</h1>
      </div>
      {agents.isPending ? (
        <SkeletonRows rows={5} height={64} label="Loading the form" />
      ) : agents.isError ? (
        <Failed what="The form did not load" error={agents.error} retry={() => void agents.refetch()} />
      ) : (
        <AgentForm
          initial={{ name: "", systemPrompt: "", modelProvider: like?.modelProvider ?? "", model: like?.model ?? "", reasoningLevel: "", askFirst: "never", mcpServers: [] }}
          save={save}
          action="Make the agent"
        >
          <Link to="/agents" className="button quiet">
            Cancel
          </Link>
        </AgentForm>
      )}
    </div>
  );
}
