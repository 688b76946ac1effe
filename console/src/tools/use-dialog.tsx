// The palette of a conversation: a person chooses a verb or a tool, fills in what it takes, and uses it on the shared log.
import { useQuery } from "@tanstack/react-query";
import { useId, useMemo, useState } from "react";
import { ApiError } from "../api/client.ts";
import { invoke, queries } from "../api/operations.ts";
import { rank } from "../frame/match.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { SchemaForm } from "../ui/schema-form.tsx";
import { controlsOf, inputOf, typedOf, type Typed } from "../ui/schema.ts";
import { explain, Failed, SkeletonRows } from "../ui/state.tsx";
import { toast } from "../ui/toast.tsx";
import { actionsOf, type Action } from "./actions.ts";

export function UseDialog({ sessionId, agentId, busy, onClose }: { sessionId: string; agentId: string; busy: boolean; onClose: () => void }) {
  const tools = useQuery(queries.tools(agentId));
  const [chosen, setChosen] = useState<Action>();
  return (
    <Dialog open onClose={onClose} title={chosen ? `Use ${chosen.name}` : "Use a verb or tool"} className="use-dialog">
      {chosen ? (
        <Use sessionId={sessionId} action={chosen} busy={busy} back={() => setChosen(undefined)} done={onClose} />
      ) : tools.isPending ? (
        <SkeletonRows rows={4} height={48} label="Loading what can be used" />
      ) : tools.isError ? (
        <Failed what="What can be used did not load" error={tools.error} retry={() => void tools.refetch()} />
      ) : (
        <Choose actions={actionsOf(tools.data)} choose={setChosen} />
      )}
    </Dialog>
  );
}

function Choose({ actions, choose }: { actions: readonly Action[]; choose: (action: Action) => void }) {
  const id = useId();
  const [query, setQuery] = useState("");
  const [active, setActive] = useState(0);
  const found = useMemo(() => rank(query, actions, (action) => `${action.name} ${action.summary}`), [query, actions]);
  const at = Math.min(active, Math.max(found.length - 1, 0));
  return (
    <>
      <p className="muted">You act on this conversation with what the agent has. It sees what you did, and what came of it.</p>
      <div className="list-filter">
        <Icon name="search" size={14} />
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={found[at] ? `${id}-${at}` : undefined}
          aria-label="Find a verb or tool"
          placeholder="Find a verb or tool"
          value={query}
          spellCheck={false}
          autoComplete="off"
          autoFocus
          onChange={(event) => {
            setQuery(event.target.value);
            setActive(0);
          }}
          onKeyDown={(event) => {
            const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
            if (step !== undefined && found.length > 0) {
              event.preventDefault();
              setActive((at + step + found.length) % found.length);
            } else if (event.key === "Enter" && found[at]) {
              event.preventDefault();
              choose(found[at]);
            }
          }}
        />
      </div>
      <div role="listbox" id={`${id}-list`} aria-label="What can be used" className="use-list">
        {found.map((action, i) => (
          <div key={`${action.verb} ${action.name}`} id={`${id}-${i}`} role="option" aria-selected={i === at} className="palette-entry use-entry" onMouseMove={() => setActive(i)} onClick={() => choose(action)}>
            <Icon name={action.verb === "read" ? "file" : action.verb === "write" ? "write" : "tool"} />
            <code>{action.name}</code>
            <span className="muted small truncate">{action.summary}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="muted">Nothing is called “{query}”.</p>}
    </>
  );
}

function Use({ sessionId, action, busy, back, done }: { sessionId: string; action: Action; busy: boolean; back: () => void; done: () => void }) {
  const [controls] = useState(() => controlsOf(action.schema));
  const [typed, setTyped] = useState<Typed>({});
  const [json, setJson] = useState(controls ? undefined : "{}");
  const [problems, setProblems] = useState<Record<string, string>>({});
  const [failure, setFailure] = useState<{ words: string; calm: boolean }>();
  const [sending, setSending] = useState(false);

  const set = (name: string, value: string): void => {
    setTyped((now) => ({ ...now, [name]: value }));
    setProblems(({ [name]: _, ...rest }) => rest);
  };
  /** What was typed as an object; nothing when something is wrong with it, which is said then. */
  const read = (): Record<string, unknown> | undefined => {
    if (json === undefined) {
      const result = inputOf(controls ?? [], typed);
      setProblems(result.problems);
      return Object.keys(result.problems).length > 0 ? undefined : result.input;
    }
    try {
      const value: unknown = JSON.parse(json);
      if (typeof value === "object" && value !== null && !Array.isArray(value)) {
        setProblems({});
        return value as Record<string, unknown>;
      }
      setProblems({ json: "This has to be an object: {…}." });
    } catch (error) {
      setProblems({ json: `This is no JSON: ${explain(error)}` });
    }
    return undefined;
  };
  const other = (): void => {
    if (json === undefined) {
      setJson(JSON.stringify(inputOf(controls ?? [], typed).input, null, 2));
    } else {
      const value = read();
      if (value === undefined) return;
      setTyped(typedOf(controls ?? [], value));
      setJson(undefined);
    }
    setProblems({});
  };
  const send = async (): Promise<void> => {
    const input = read();
    setFailure(undefined);
    if (input === undefined) return;
    setSending(true);
    try {
      const { error } = await invoke(sessionId, action.verb, action.input(input));
      if (error === undefined) {
        toast(`Done: ${action.name}. The agent sees it at its next turn.`);
        done();
        return;
      }
      setFailure({ words: `It failed, and the conversation says so: ${error}`, calm: false });
    } catch (refused) {
      const wait = refused instanceof ApiError && refused.status === 409;
      setFailure({ words: wait ? `${explain(refused)}. What you filled in stays here.` : explain(refused), calm: wait });
    }
    setSending(false);
  };
  return (
    <form
      className="stack"
      noValidate
      aria-label={`Use ${action.name}`}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void send();
      }}
    >
      <p className="muted">{action.summary}</p>
      {json === undefined ? (
        <SchemaForm controls={controls ?? []} typed={typed} problems={problems} set={set} />
      ) : (
        <Field label="Input" help="A JSON object that fits the contract." problem={problems.json}>
          <textarea className="input mono" rows={8} value={json} spellCheck={false} autoFocus onChange={(event) => setJson(event.target.value)} />
        </Field>
      )}
      <div role="status">{busy && !failure && <p className="muted small">The agent is at work in this conversation: what you do has to wait for the end of its turn.</p>}</div>
      {failure && (
        <div className={failure.calm ? "notice warn" : "notice bad"} role="alert">
          {failure.words}
        </div>
      )}
      <div className="row wrap">
        {controls && (
          <button type="button" className="button quiet small" aria-pressed={json !== undefined} onClick={other}>
            {json === undefined ? "As JSON" : "As a form"}
          </button>
        )}
        <span className="grow" />
        <button type="button" className="button" onClick={back}>
          Back
        </button>
        <button type="submit" className="button primary" disabled={sending}>
          {sending ? "Using…" : "Use it"}
        </button>
      </div>
    </form>
  );
}
