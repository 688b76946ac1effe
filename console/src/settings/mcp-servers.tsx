import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { deleteMcpServer, loginMcpServer, queries, refreshMcpServer, setMcpServer, setSecret } from "../api/operations.ts";
import type { McpServer } from "../api/types.ts";
import { Field } from "../ui/field.tsx";
import { explain } from "../ui/state.tsx";
import { Ago } from "../ui/time.tsx";
import { toast } from "../ui/toast.tsx";
import { Remove, SettingsForm, SettingsPage } from "./list.tsx";

const plural = (n: number): string => (n === 1 ? "1 tool" : `${n} tools`);

/** Whether the server can be used, and what to do when it cannot. */
function stateOf(server: McpServer): { label: string; look: "ok" | "bad" | "warn" | "" } {
  if (server.auth === "oauth" && !server.signedIn) return { label: "waits for your sign-in", look: "warn" };
  switch (server.status.state) {
    case "ok":
      return { label: plural(server.tools.length), look: "ok" };
    case "error":
      return { label: "does not answer", look: "bad" };
    default:
      return { label: "not asked yet", look: "" };
  }
}

export function McpServersPage() {
  const servers = useQuery(queries.mcpServers());
  return (
    <SettingsPage
      title="MCP servers"
      about="Servers whose tools agents can use. An agent uses those that its settings name."
      add={{ button: "Connect a server", title: "Connect an MCP server", form: (done) => <ServerForm done={done} /> }}
      query={servers}
      what="the MCP servers"
      icon="system"
      empty="No MCP servers yet"
      emptyText="Connect one by its address, with a key or a sign-in when it wants one."
      rowKey={(server) => server.id}
      row={(server) => <Row server={server} />}
    />
  );
}

function Row({ server }: { server: McpServer }) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const state = stateOf(server);
  const reload = () => client.invalidateQueries({ queryKey: ["mcp-servers"] });
  const act = async (what: () => Promise<unknown>): Promise<void> => {
    setBusy(true);
    try {
      await what();
      await reload();
    } catch (error) {
      toast(explain(error));
    } finally {
      setBusy(false);
    }
  };
  const signIn = async (): Promise<void> => {
    const { authUrl } = await loginMcpServer(server.name);
    // Only a web address is opened: the authorization server was named by a stranger.
    if (!/^https?:\/\//.test(authUrl)) throw new Error("The server named no web address to sign in at.");
    window.open(authUrl, "_blank", "noopener,noreferrer");
  };
  return (
    <div className="settings-row">
      <div className="grow">
        <div className="row">
          <strong className="truncate">{server.name}</strong>
          <span className={`status ${state.look}`}>{state.label}</span>
          {server.signedIn && <span className="chip">signed in</span>}
          {server.hasSecrets && !server.signedIn && <span className="chip">key stored</span>}
        </div>
        <div className="mono small muted truncate">{server.command?.[0] ?? server.url}</div>
        {server.status.error && <div className="small">{server.status.error}</div>}
        {server.tools.length > 0 && (
          <details className="small">
            <summary>{plural(server.tools.length)}</summary>
            <ul className="plain">
              {server.tools.map((tool) => (
                <li key={tool.toolName}>
                  <code>{tool.toolName}</code> <span className="muted">{tool.description?.split("\n")[0]?.slice(0, 140)}</span>
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
      {server.status.checkedAt !== undefined && (
        <span className="muted small">
          asked <Ago at={server.status.checkedAt} />
        </span>
      )}
      {server.auth === "oauth" && (
        <button type="button" className="button small" disabled={busy} onClick={() => void act(signIn)}>
          {server.signedIn ? "Sign in again" : "Sign in"}
        </button>
      )}
      <button type="button" className="button small" disabled={busy} onClick={() => void act(() => refreshMcpServer(server.name))}>
        {busy ? "Asking…" : "Ask again"}
      </button>
      <Remove
        label={`Delete ${server.name}`}
        title={`Delete ${server.name}?`}
        text="Its tools go from every agent that uses it, and its secrets with it."
        action="Delete the server"
        run={async () => {
          await deleteMcpServer(server.name);
          await reload();
        }}
      />
    </div>
  );
}

function ServerForm({ done }: { done: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [key, setKey] = useState("");
  const [oauth, setOauth] = useState(false);
  const save = async (): Promise<void> => {
    const id = name.trim();
    const config: { url: string; auth?: string; secretRefs?: Record<string, string> } = { url: url.trim() };
    if (oauth) config.auth = "oauth";
    else if (key !== "") {
      const secret = `mcp-${id}-authorization`;
      await setSecret(secret, /\s/.test(key.trim()) ? key.trim() : `Bearer ${key.trim()}`);
      config.secretRefs = { Authorization: secret };
    }
    const { server } = await setMcpServer(id, config);
    await client.invalidateQueries({ queryKey: ["mcp-servers"] });
    toast(server.status.state === "ok" ? `${id} offers ${plural(server.tools.length)}.` : `${id} is saved, but: ${server.status.error ?? "it did not answer"}`);
    done();
  };
  return (
    <SettingsForm action="Connect" busyAction="Asking for its tools…" ready={name.trim() !== "" && url.trim() !== ""} save={save} done={done}>
      {(problem) => (
        <>
          <Field label="Name" help="Its tools are called name__tool. A server of that name is replaced.">
            <input className="input mono" value={name} autoFocus autoComplete="off" onChange={(event) => setName(event.target.value)} />
          </Field>
          <Field label="Address" problem={problem}>
            <input className="input mono" type="url" placeholder="https://host/mcp" value={url} onChange={(event) => setUrl(event.target.value)} />
          </Field>
          <label className="row">
            <input type="checkbox" checked={oauth} onChange={(event) => setOauth(event.target.checked)} /> It wants me to sign in
          </label>
          {!oauth && (
            <Field label="Key" help="Sent as a bearer token. It is stored as a secret and never shown again; leave it empty when there is none.">
              <input className="input mono" type="password" autoComplete="off" value={key} onChange={(event) => setKey(event.target.value)} />
            </Field>
          )}
        </>
      )}
    </SettingsForm>
  );
}
