// What an agent can call: a list that is searched at the left, the chosen contract at the right.
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { queries } from "../api/operations.ts";
import type { Tool } from "../api/types.ts";
import { plural } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { Empty, Failed, SkeletonRows } from "../ui/state.tsx";
import { ToolForm } from "./tool-form.tsx";
import { ToolView } from "./tool-view.tsx";
import { groups, stateOf } from "./tools.ts";

const from = "/app/agents/$agentId/tools" as const;

export function ToolsTab() {
  const { agentId } = useParams({ from });
  const { tool: name, make } = useSearch({ from });
  const agent = useQuery(queries.agent(agentId));
  const tools = useQuery(queries.tools(agentId));
  const navigate = useNavigate();
  const go = (search: { tool?: string; make?: string }): void => void navigate({ to: "/agents/$agentId/tools", params: { agentId }, search });
  const role = agent.data?.agent.accessRole;
  const may = role === "owner" || role === "writer";
  if (tools.isPending) return <SkeletonRows rows={6} height={44} label="Loading the tools" />;
  if (tools.isError) return <Failed what="The tools did not load" error={tools.error} retry={() => void tools.refetch()} />;
  const chosen = tools.data.find((tool) => tool.name === name);
  const making = make !== undefined && may;
  return (
    <div className="memory tools" data-open={name !== undefined || making}>
      <ToolList tools={tools.data} chosen={name} choose={(tool) => go({ tool })} make={may ? () => go({ make: "new" }) : undefined} />
      <section className="card memory-file" aria-label="Tool">
        {making ? (
          <ToolForm agentId={agentId} done={(saved) => go(saved === undefined ? {} : { tool: saved })} />
        ) : chosen ? (
          <ToolView key={chosen.name} agentId={agentId} tool={chosen} may={may} choose={(tool) => go(tool === undefined ? {} : { tool })} />
        ) : name === undefined ? (
          <Empty icon="tool" title="Choose a tool">
            Its contract opens here. Besides its tools every agent has the verbs: it reads, writes, calls, plans and delegates.
          </Empty>
        ) : (
          <Empty icon="tool" title={`There is no tool ${name}`} action={<button type="button" className="button" onClick={() => go({})}>All tools</button>}>
            It was renamed or deleted, or its MCP server no longer offers it.
          </Empty>
        )}
      </section>
    </div>
  );
}

function ToolList({ tools, chosen, choose, make }: {
  tools: readonly Tool[];
  chosen: string | undefined;
  choose: (name: string) => void;
  make: (() => void) | undefined;
}) {
  const [query, setQuery] = useState("");
  const found = useMemo(() => groups(tools, query), [tools, query]);
  return (
    <nav className="memory-list" aria-label="Tools of the agent">
      <div className="row memory-head">
        <span className="muted small grow">{plural(tools.length, "tool")}</span>
        {make && (
          <button type="button" className="button" onClick={make}>
            <Icon name="plus" /> New tool
          </button>
        )}
      </div>
      <div className="list-filter">
        <Icon name="search" size={14} />
        <input
          type="search"
          aria-label="Find a tool"
          placeholder="Find a tool"
          value={query}
          spellCheck={false}
          onChange={(event) => setQuery(event.target.value)}
          onKeyDown={(event) => {
            const first = found[0]?.tools[0];
            if (event.key === "Enter" && first) choose(first.name);
          }}
        />
      </div>
      {found.map((group) => (
        <section key={group.label} aria-label={group.label}>
          <h2 className="tool-group">{group.label}</h2>
          <ul className="plain">
            {group.tools.map((tool) => (
              <li key={tool.name}>
                <button type="button" className="memory-entry tool-entry" aria-current={tool.name === chosen ? "true" : undefined} onClick={() => choose(tool.name)} data-item>
                  <span className="mono truncate">{tool.name}</span>
                  <Mark tool={tool} />
                  <span className="muted small truncate">{tool.summary}</span>
                </button>
              </li>
            ))}
          </ul>
        </section>
      ))}
      {found.length === 0 && (
        <p className="muted small" role="status">
          {query === "" ? "No tools yet." : `No tool fits “${query}”.`}
        </p>
      )}
    </nav>
  );
}

/** Only what is out of the ordinary is marked. */
function Mark({ tool }: { tool: Tool }) {
  const state = stateOf(tool);
  if (state.look === "ok") return tool.author === "agent" ? <span className="chip">by the agent</span> : <span />;
  return <span className={`status ${state.look}`}>{state.label}</span>;
}
