// The calls that wait for a person, and those that were decided.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { queries } from "../api/operations.ts";
import { Segmented } from "../ui/field.tsx";
import { Empty, Failed, SkeletonRows } from "../ui/state.tsx";
import { useTitle } from "../ui/title.ts";
import { ApprovalCard } from "./card.tsx";

export function ApprovalsPage() {
  useTitle("Approvals");
  const past = useSearch({ from: "/app/approvals" }).show === "all";
  const navigate = useNavigate();
  return (
    <div className="page">
      <div className="page-head">
        <h1>Approvals</h1>
        <span className="grow" />
        <Segmented
          label="Which approvals"
          value={past ? "all" : "pending"}
          options={[
            { value: "pending", label: "Waiting" },
            { value: "all", label: "All" },
          ]}
          onChange={(show) => void navigate({ to: "/approvals", search: show === "all" ? { show } : {} })}
        />
      </div>
      <List past={past} />
    </div>
  );
}

function List({ past }: { past: boolean }) {
  const list = useInfiniteQuery(queries.approvals(past ? {} : { status: "pending" }));
  const agents = useQuery(queries.agents());
  if (list.isPending) return <SkeletonRows rows={3} height={132} label="Loading the approvals" />;
  if (list.isError) return <Failed what="The approvals did not load" error={list.error} retry={() => void list.refetch()} />;
  const all = list.data.pages.flatMap((page) => page.approvals);
  if (all.length === 0) {
    return (
      <Empty icon="check" title={past ? "Nothing was asked yet" : "Nothing waits for you"}>
        An agent that has to ask before it acts shows its calls here. Which ones need an approval is said in the form of the agent.
      </Empty>
    );
  }
  const names = new Map((agents.data ?? []).map((agent) => [agent.id, agent.definition.name]));
  return (
    <div className="stack">
      {all.map((approval) => (
        <ApprovalCard key={approval.id} approval={approval} agent={names.get(approval.agentId) ?? "An agent"} may link />
      ))}
      {list.hasNextPage && (
        <button type="button" className="button" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Older ones
        </button>
      )}
    </div>
  );
}
