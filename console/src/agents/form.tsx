// The form of an agent: name, model, instructions. It serves the new agent and the Build tab.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useId, useState, type ReactNode } from "react";
import { queries } from "../api/operations.ts";
import { ApiError } from "../api/client.ts";
import { plural, short } from "../ui/format.ts";
import { Field, Segmented } from "../ui/field.tsx";
import { Markdown } from "../ui/markdown.tsx";
import { explain } from "../ui/state.tsx";

export interface AgentFields {
  name: string;
  systemPrompt: string;
  modelProvider: string;
  model: string;
  reasoningLevel: string;
  /** When a person is asked before a tool is called; undefined when this person may not say. */
  askFirst?: AskFirst;
  /** The MCP servers whose tools the agent uses; undefined when this person may not say. */
  mcpServers?: readonly string[];
}

export type AskFirst = "never" | "effects";

const levels = ["minimal", "low", "medium", "high", "xhigh", "max"] as const;

/** The problems of the fields, by field; empty when it can be saved. */
export function check(fields: AgentFields): Partial<Record<keyof AgentFields, string>> {
  const problems: Partial<Record<keyof AgentFields, string>> = {};
  if (fields.name.trim() === "") problems.name = "Give the agent a name.";
  if (fields.systemPrompt.trim() === "") problems.systemPrompt = "Say what the agent is for.";
  if (fields.modelProvider === "") problems.modelProvider = "Choose a provider.";
  if (fields.model.trim() === "") problems.model = "Choose a model.";
  return problems;
}

export function AgentForm({ initial, save, action, children }: {
  initial: AgentFields;
  save: (fields: AgentFields) => Promise<void>;
  action: string;
  children?: ReactNode;
}) {
  const [fields, setFields] = useState(initial);
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const set = (change: Partial<AgentFields>): void => setFields((before) => ({ ...before, ...change }));
  const problems = tried ? check(fields) : {};
  const changed = JSON.stringify(fields) !== JSON.stringify(initial);

  const submit = async (): Promise<void> => {
    setTried(true);
    if (Object.keys(check(fields)).length > 0) return;
    setBusy(true);
    setFailure(undefined);
    try {
      await save(fields);
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="stack agent-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void submit();
      }}
    >
      <Field label="Name" problem={problems.name}>
        <input className="input" value={fields.name} maxLength={200} autoComplete="off" onChange={(event) => set({ name: event.target.value })} />
      </Field>
      <ModelFields fields={fields} set={set} problems={problems} />
      {fields.askFirst !== undefined && (
        <Field label="Approvals" help="A call that waits for you is shown under Approvals and in its conversation.">
          <select className="input" value={fields.askFirst} onChange={(event) => set({ askFirst: event.target.value as AskFirst })}>
            <option value="never">Act without asking</option>
            <option value="effects">Ask me before every tool that acts on the world</option>
          </select>
        </Field>
      )}
      {fields.mcpServers !== undefined && <McpServers chosen={fields.mcpServers} set={(mcpServers) => set({ mcpServers })} />}
      <Instructions value={fields.systemPrompt} problem={problems.systemPrompt} onChange={(systemPrompt) => set({ systemPrompt })} />
      {failure !== undefined && (
        <div className="notice bad" role="alert">
          {failure instanceof ApiError && failure.code === "precondition_failed"
            ? "Somebody changed this agent meanwhile. Load the page again, then make your change."
            : explain(failure)}
        </div>
      )}
      <div className="row wrap form-actions">
        <button type="submit" className="button primary" disabled={busy || (!changed && initial.name !== "")}>
          {busy ? "Saving…" : action}
        </button>
        <span role="status" className="muted small">
          {changed && initial.name !== "" ? "Not saved yet" : ""}
        </span>
        <span className="grow" />
        {children}
      </div>
    </form>
  );
}

/** Every server that is connected, and those that the agent names and that are gone. */
function McpServers({ chosen, set }: { chosen: readonly string[]; set: (names: string[]) => void }) {
  const servers = useQuery(queries.mcpServers());
  const known = servers.data ?? [];
  const gone = chosen.filter((name) => !known.some((server) => server.name === name));
  const turn = (name: string, on: boolean): void => set(on ? [...chosen, name].sort() : chosen.filter((other) => other !== name));
  return (
    <fieldset className="choices">
      <legend>MCP servers</legend>
      {servers.isError && <span className="muted small">The servers did not load: {explain(servers.error)}</span>}
      {known.map((server) => (
        <label key={server.id} className="check">
          <input type="checkbox" checked={chosen.includes(server.name)} onChange={(event) => turn(server.name, event.target.checked)} />
          <span className="mono">{server.name}</span>
          <span className="muted small">{server.status.state === "error" ? `does not answer: ${server.status.error ?? ""}` : plural(server.tools.length, "tool")}</span>
        </label>
      ))}
      {servers.data &&
        gone.map((name) => (
          <label key={name} className="check">
            <input type="checkbox" checked onChange={() => turn(name, false)} />
            <span className="mono">{name}</span>
            <span className="muted small">is not connected any more</span>
          </label>
        ))}
      <span className="muted small">
        The agent gets all tools of a server that is chosen. <Link to="/settings/mcp-servers">Connect a server</Link>
      </span>
    </fieldset>
  );
}

type ModelFieldsOf = Pick<AgentFields, "modelProvider" | "model" | "reasoningLevel">;

/** Which model: of an agent, or of one conversation. */
export function ModelFields({ fields, set, problems, noLevel = "The model’s default" }: {
  fields: ModelFieldsOf;
  set: (change: Partial<ModelFieldsOf>) => void;
  problems: Partial<Record<keyof ModelFieldsOf, string>>;
  /** What no level means. */
  noLevel?: string;
}) {
  const providers = useQuery(queries.providers());
  const models = useQuery(queries.models(fields.modelProvider));
  const list = useId();
  const chosen = models.data?.find((model) => model.id === fields.model);
  const help = models.isError ? (
    <span>The provider does not list its models ({explain(models.error)}). Type the model’s id.</span>
  ) : models.isFetching && !models.data ? (
    "Asking the provider for its models…"
  ) : chosen ? (
    [
      chosen.contextWindow ? `${short(chosen.contextWindow)} tokens of context` : "",
      chosen.price ? `$${chosen.price.input} in, $${chosen.price.output} out per million tokens` : "",
    ]
      .filter(Boolean)
      .join(" · ") || chosen.name
  ) : (
    `${models.data?.length ?? 0} models to choose from`
  );
  return (
    <div className="form-columns">
      <Field
        label="Provider"
        problem={problems.modelProvider}
        help={
          <>
            Missing one? <Link to="/settings/providers">Connect a provider</Link>
          </>
        }
      >
        <select className="input" value={fields.modelProvider} onChange={(event) => set({ modelProvider: event.target.value, model: "" })}>
          <option value="">Choose…</option>
          {fields.modelProvider !== "" && !providers.data?.some((provider) => provider.name === fields.modelProvider) && (
            <option value={fields.modelProvider}>{fields.modelProvider}</option>
          )}
          {providers.data?.map((provider) => (
            <option key={provider.id} value={provider.name}>
              {provider.name}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Model" problem={problems.model} help={help}>
        <input
          className="input mono"
          list={list}
          value={fields.model}
          autoComplete="off"
          spellCheck={false}
          placeholder={models.data?.[0]?.id ?? ""}
          onChange={(event) => set({ model: event.target.value })}
        />
      </Field>
      <datalist id={list}>
        {models.data?.map((model) => (
          <option key={model.id} value={model.id}>
            {model.name}
          </option>
        ))}
      </datalist>
      <Field label="Reasoning" help="How much a reasoning model thinks.">
        <select className="input" value={fields.reasoningLevel} onChange={(event) => set({ reasoningLevel: event.target.value })}>
          <option value="">{noLevel}</option>
          {levels.map((level) => (
            <option key={level} value={level}>
              {level}
            </option>
          ))}
        </select>
      </Field>
    </div>
  );
}

function Instructions({ value, problem, onChange }: { value: string; problem: string | undefined; onChange: (value: string) => void }) {
  const [view, setView] = useState<"write" | "preview">("write");
  return (
    <div className="instructions">
      <div className="instructions-switch">
        <Segmented
          label="View of the instructions"
          value={view}
          options={[
            { value: "write", label: "Write" },
            { value: "preview", label: "Preview" },
          ]}
          onChange={setView}
        />
      </div>
      {view === "write" ? (
        <Field label="Instructions" problem={problem} help="Markdown. What the agent is for, how it should work, what it must not do.">
          <textarea className="input mono" rows={14} value={value} onChange={(event) => onChange(event.target.value)} />
        </Field>
      ) : (
        <div className="field">
          <span className="label">Instructions</span>
          <div className="card pad instructions-preview">{value.trim() === "" ? <span className="muted">Nothing yet.</span> : <Markdown text={value} />}</div>
        </div>
      )}
    </div>
  );
}
