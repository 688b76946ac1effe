import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { queries } from "../api/operations.ts";
import { useTitle } from "../ui/title.ts";
import { RunsTable } from "./table.tsx";
import { statusLook } from "./words.ts";

export function RunsPage() {
  useTitle("Runs");
  const search = useSearch({ from: "/app/runs" });
  const navigate = useNavigate();
  const agents = useQuery(queries.agents());
  const set = (change: { agentId?: string; status?: string }): void => {
    const next = { ...search, ...change };
    void navigate({
      to: "/runs",
      search: { ...(next.agentId ? { agentId: next.agentId } : {}), ...(next.status ? { status: next.status } : {}) },
    });
  };
  return (
    <div className="page">
      <div className="page-head">
        <h1>Runs</h1>
        <span className="grow" />
        <select className="input filter" aria-label="Agent" value={search.agentId ?? ""} onChange={(event) => set({ agentId: event.target.value })}>
          <option value="">All agents</option>
          {agents.data?.map((agent) => (
            <option key={agent.id} value={agent.id}>
              {agent.definition.name}
            </option>
          ))}
        </select>
        <select className="input filter" aria-label="State" value={search.status ?? ""} onChange={(event) => set({ status: event.target.value })}>
          <option value="">All states</option>
          {Object.entries(statusLook).map(([status, { label }]) => (
            <option key={status} value={status}>
              {label}
            </option>
          ))}
        </select>
      </div>
      <RunsTable filter={search} cleared={() => void navigate({ to: "/runs", search: {} })} />
    </div>
  );
}
