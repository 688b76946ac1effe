// The command palette: one field that finds agents, sessions, runs, settings and commands.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useId, useMemo, useRef, useState } from "react";
import { queries } from "../api/operations.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { rank } from "./match.ts";
import { setRailNarrow, setTheme, useRailNarrow } from "./preferences.ts";
import { settingsPages } from "../settings/pages.ts";
import { signOutHere } from "./session.ts";

interface Entry {
  id: string;
  group: string;
  label: string;
  hint?: string;
  icon: IconName;
  run: () => void;
}

/** How many entries are shown; more would be read by nobody. */
const shown = 12;

/** Before anything is typed: the newest conversations, the agents and the commands, a few of each. */
function someOfEach(entries: readonly Entry[]): Entry[] {
  return ["Conversation", "Agent", "Command", "Go to"].flatMap((group) => entries.filter((entry) => entry.group === group).slice(0, 4));
}

function useEntries(open: boolean): Entry[] {
  const navigate = useNavigate();
  const narrow = useRailNarrow();
  const agents = useQuery({ ...queries.agents(), enabled: open });
  const sessions = useInfiniteQuery({ ...queries.sessions(), enabled: open });
  const runs = useInfiniteQuery({ ...queries.runs(), enabled: open });
  return useMemo(() => {
    const list: Entry[] = [
      { id: "new", group: "Command", label: "New conversation", icon: "plus", run: () => void navigate({ to: "/" }) },
      { id: "agent-new", group: "Command", label: "New agent", icon: "plus", run: () => void navigate({ to: "/agents/new" }) },
      { id: "go-agents", group: "Go to", label: "Agents", icon: "agent", run: () => void navigate({ to: "/agents" }) },
      { id: "go-approvals", group: "Go to", label: "Approvals", icon: "check", run: () => void navigate({ to: "/approvals" }) },
      { id: "go-runs", group: "Go to", label: "Runs", icon: "runs", run: () => void navigate({ to: "/runs" }) },
    ];
    for (const page of settingsPages) {
      list.push({ id: `settings-${page.id}`, group: "Settings", label: page.label, icon: page.icon, run: () => void navigate({ to: page.to }) });
    }
    for (const [theme, icon] of [["light", "sun"], ["dark", "moon"], ["system", "system"]] as const) {
      list.push({ id: `theme-${theme}`, group: "Command", label: `Theme: ${theme}`, icon, run: () => setTheme(theme) });
    }
    list.push(
      { id: "rail", group: "Command", label: narrow ? "Unfold the side bar" : "Fold the side bar", icon: "menu", run: () => setRailNarrow(!narrow) },
      { id: "sign-out", group: "Command", label: "Sign out", icon: "lock", run: () => void signOutHere() },
    );
    const names = new Map((agents.data ?? []).map((agent) => [agent.id, agent.definition.name]));
    for (const agent of agents.data ?? []) {
      list.push({
        id: agent.id, group: "Agent", label: agent.definition.name, hint: agent.definition.model, icon: "agent",
        run: () => void navigate({ to: "/agents/$agentId", params: { agentId: agent.id } }),
      });
    }
    for (const session of sessions.data?.pages.flatMap((page) => page.sessions) ?? []) {
      list.push({
        id: session.id, group: "Conversation", label: session.title || "Untitled conversation", hint: names.get(session.agentId) ?? "", icon: "chat",
        run: () => void navigate({ to: "/sessions/$sessionId", params: { sessionId: session.id } }),
      });
    }
    for (const run of runs.data?.pages.flatMap((page) => page.runs) ?? []) {
      list.push({
        id: run.id, group: "Run", label: run.title || run.kind, hint: run.status, icon: "runs",
        run: () => void navigate({ to: "/runs/$runId", params: { runId: run.id } }),
      });
    }
    return list;
  }, [navigate, narrow, agents.data, sessions.data, runs.data]);
}

export function Palette({ open, onClose }: { open: boolean; onClose: () => void }) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [query, setQuery] = useState("");
  const [active, setActive] = useState(0);
  const entries = useEntries(open);
  const found = useMemo(
    () =>
      (query.trim() === "" ? someOfEach(entries) : rank(query, entries, (entry) => `${entry.label} ${entry.hint ?? ""} ${entry.group}`)).slice(0, shown),
    [query, entries],
  );
  const at = Math.min(active, Math.max(found.length - 1, 0));

  useEffect(() => {
    const dialog = ref.current;
    if (open && dialog && !dialog.open) dialog.showModal();
    if (open) {
      setQuery("");
      setActive(0);
    }
    return () => dialog?.close();
  }, [open]);

  const choose = (entry: Entry | undefined): void => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  const onKey = (event: React.KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) {
      event.preventDefault();
      setActive((at + step + found.length) % found.length);
    } else if (event.key === "Enter" && !event.nativeEvent.isComposing) {
      event.preventDefault();
      choose(found[at]);
    }
  };
  if (!open) return null;
  return (
    <dialog
      ref={ref}
      className="palette"
      aria-label="Command palette"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === ref.current) onClose();
      }}
    >
      <div className="palette-field">
        <Icon name="search" />
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={found[at] ? `${id}-${at}` : undefined}
          aria-label="Find or run"
          placeholder="Find an agent, conversation, run, setting or command"
          value={query}
          spellCheck={false}
          autoComplete="off"
          autoFocus
          onChange={(event) => {
            setQuery(event.target.value);
            setActive(0);
          }}
          onKeyDown={onKey}
        />
      </div>
      <div className="palette-list" role="listbox" id={`${id}-list`} aria-label="Found">
        {found.map((entry, i) => (
          <div
            key={entry.id}
            id={`${id}-${i}`}
            role="option"
            aria-selected={i === at}
            className="palette-entry"
            onMouseMove={() => setActive(i)}
            onClick={() => choose(entry)}
          >
            <Icon name={entry.icon} />
            <span className="truncate">{entry.label}</span>
            {entry.hint && <span className="muted small truncate">{entry.hint}</span>}
            <span className="muted small palette-group">{entry.group}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="palette-none muted">Nothing is called “{query}”.</p>}
    </dialog>
  );
}
