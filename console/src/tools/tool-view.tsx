// One tool: its contract, where it comes from, its program, and what may be done with it.
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { deleteTool, saveTool } from "../api/operations.ts";
import type { Tool } from "../api/types.ts";
import { Code } from "../ui/code.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { Confirm } from "../ui/dialog.tsx";
import { moment } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { Markdown } from "../ui/markdown.tsx";
import { SchemaView } from "../ui/schema-view.tsx";
import { explain } from "../ui/state.tsx";
import { toast } from "../ui/toast.tsx";
import { ToolForm } from "./tool-form.tsx";
import { effectOf, fieldsOfTool, originOf, stateOf, tagOf } from "./tools.ts";

export function ToolView({ agentId, tool, may, choose }: {
  agentId: string;
  tool: Tool;
  may: boolean;
  choose: (name: string | undefined) => void;
}) {
  const [editing, setEditing] = useState(false);
  if (editing) {
    return (
      <ToolForm
        agentId={agentId}
        tool={tool}
        done={(saved) => {
          setEditing(false);
          if (saved !== undefined) choose(saved);
        }}
      />
    );
  }
  return (
    <>
      <header className="memory-file-head">
        <button type="button" className="button quiet icon small memory-back" aria-label="All tools" onClick={() => choose(undefined)}>
          <span className="turn back">
            <Icon name="chevron" />
          </span>
        </button>
        <h2 className="mono truncate grow">{tool.name}</h2>
        {tool.kind === "lambda" && may && <Actions agentId={agentId} tool={tool} edit={() => setEditing(true)} gone={() => choose(undefined)} />}
      </header>
      <div className="memory-body stack tool-body">
        <Markdown text={tool.description} />
        <Facts tool={tool} />
        <SchemaView label="Takes" schema={tool.input} none="Any object: the tool names no fields." />
        {tool.output !== undefined && <SchemaView label="Returns" schema={tool.output} none="An object: the tool names no fields." />}
        {tool.source !== undefined && (
          <section className="schema" aria-label="Program">
            <div className="data-head">
              <h3>Program</h3>
              <span>{tool.runtime}</span>
            </div>
            <Code code={tool.source} language={tool.runtime ?? ""} />
          </section>
        )}
      </div>
    </>
  );
}

function Facts({ tool }: { tool: Tool }) {
  const state = stateOf(tool);
  return (
    <dl className="facts tool-facts">
      <div>
        <dt>Kind</dt>
        <dd>
          <span className="chip">{tool.kind}</span> {originOf(tool)}
        </dd>
      </div>
      <div>
        <dt>State</dt>
        <dd>
          <span className={`status ${state.look}`}>{state.label}</span>
        </dd>
      </div>
      <div>
        <dt>Effect</dt>
        <dd>{effectOf(tool)}</dd>
      </div>
      {tool.kind === "mcp" && (
        <div>
          <dt>Name there</dt>
          <dd>
            <code>{tool.remoteName}</code>, <Link to="/settings/mcp-servers">its server</Link>
          </dd>
        </div>
      )}
      <div>
        <dt>Changed</dt>
        <dd>{moment(tool.updatedAt)}</dd>
      </div>
      <div className="facts-wide">
        <dt>Content address</dt>
        <dd className="row">
          <code className="truncate">{tool.cid}</code>
          <CopyButton text={() => tool.cid} label="Copy the address" className="button quiet icon small" />
        </dd>
      </div>
    </dl>
  );
}

function Actions({ agentId, tool, edit, gone }: { agentId: string; tool: Tool; edit: () => void; gone: () => void }) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const refresh = () => client.invalidateQueries({ queryKey: ["agents", agentId, "tools"] });
  const turn = async (): Promise<void> => {
    setBusy(true);
    try {
      await saveTool(agentId, { ...fieldsOfTool(tool), enabled: !tool.enabled }, tool.name, tagOf(tool));
    } catch (error) {
      toast(`Nothing was changed: ${explain(error)}`, { bad: true });
    }
    await refresh();
    setBusy(false);
  };
  return (
    <>
      <button type="button" className="button small" disabled={busy} onClick={() => void turn()}>
        {tool.enabled ? "Switch off" : "Switch on"}
      </button>
      <button type="button" className="button small" onClick={edit}>
        <Icon name="edit" size={14} /> Edit
      </button>
      <button type="button" className="button quiet icon small" aria-label="Delete the tool" title="Delete" onClick={() => setDeleting(true)}>
        <Icon name="trash" size={15} />
      </button>
      <Confirm
        open={deleting}
        onClose={() => setDeleting(false)}
        title={`Delete ${tool.name}?`}
        action="Delete the tool"
        run={async () => {
          await deleteTool(agentId, tool.name);
          gone();
          void refresh();
        }}
      >
        The agent cannot call it any more. Its program is lost with it.
      </Confirm>
    </>
  );
}
