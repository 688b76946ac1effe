// The agent's files: a tree at the left, the chosen one at the right, as text to read and to edit.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { deleteMemory, queries, writeMemory } from "../api/operations.ts";
import type { MemoryEntry } from "../api/types.ts";
import { Confirm, Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { bytes, plural } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { Empty, explain, Failed, SkeletonRows } from "../ui/state.tsx";
import { FileView } from "./file-view.tsx";
import { isFile, pathOf, treeOf } from "./tree.ts";

const from = "/app/agents/$agentId/memory" as const;

export function MemoryTab() {
  const { agentId } = useParams({ from });
  const { file } = useSearch({ from });
  const memory = useQuery(queries.memory(agentId));
  const agent = useQuery(queries.agent(agentId));
  const [making, setMaking] = useState(false);
  const navigate = useNavigate();
  const choose = (path: string | undefined): void =>
    void navigate({ to: "/agents/$agentId/memory", params: { agentId }, search: path === undefined ? {} : { file: path } });
  if (memory.isPending) return <SkeletonRows rows={6} height={34} label="Loading the memory" />;
  if (memory.isError) return <Failed what="The memory did not load" error={memory.error} retry={() => void memory.refetch()} />;
  const role = agent.data?.agent.accessRole;
  const may = role === "owner" || role === "writer";
  const files = memory.data.entries.filter(isFile);
  const create = may && (
    <button type="button" className="button" onClick={() => setMaking(true)}>
      <Icon name="plus" /> New file
    </button>
  );
  return (
    <>
      {files.length === 0 && file === undefined ? (
        <Empty icon="folder" title="Nothing remembered yet" action={create}>
          The agent writes here what should outlast a conversation. You can read, correct and add to it.
        </Empty>
      ) : (
        <div className="memory" data-open={file !== undefined}>
          <nav className="memory-list" aria-label="Files of the memory">
            <div className="row memory-head">
              <span className="muted small grow">
                {plural(files.length, "file")}, {bytes(memory.data.totalBytes)}
              </span>
              {create}
            </div>
            <Tree agentId={agentId} entries={memory.data.entries} chosen={file} choose={choose} may={may} />
            {memory.data.truncated && <p className="muted small">Only the first 2,000 entries are listed.</p>}
          </nav>
          <section className="card memory-file" aria-label="File">
            {file === undefined ? (
              <Empty icon="file" title="Choose a file">
                It opens here to read and to edit.
              </Empty>
            ) : (
              <FileView key={file} agentId={agentId} path={file} taken={(path) => files.some((entry) => entry.path === path)} may={may} choose={choose} />
            )}
          </section>
        </div>
      )}
      <NewFile agentId={agentId} open={making} taken={(path) => files.some((entry) => entry.path === path)} onClose={() => setMaking(false)} choose={choose} />
    </>
  );
}

function Tree({ agentId, entries, chosen, choose, may }: {
  agentId: string;
  entries: readonly MemoryEntry[];
  chosen: string | undefined;
  choose: (path: string | undefined) => void;
  may: boolean;
}) {
  const client = useQueryClient();
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [deleting, setDeleting] = useState<string>();
  const rows = useMemo(() => treeOf(entries, closed), [entries, closed]);
  const turn = (path: string): void => {
    const next = new Set(closed);
    if (!next.delete(path)) next.add(path);
    setClosed(next);
  };
  return (
    <>
      <ul className="plain">
        {rows.map((row) => (
          <li key={row.path} className="row memory-line" style={{ paddingLeft: row.depth * 14 }}>
            {row.kind === "folder" ? (
              <>
                <button type="button" className="memory-entry" aria-expanded={row.open} onClick={() => turn(row.path)} data-item>
                  <Icon name="folder" size={14} />
                  <span className="mono truncate grow">{row.name}/</span>
                  <span className="muted small">{plural(row.files, "file")}</span>
                </button>
                {may && (
                  <button type="button" className="button quiet icon small" aria-label={`Delete the folder ${row.path}`} title="Delete the folder" onClick={() => setDeleting(row.path)}>
                    <Icon name="trash" size={14} />
                  </button>
                )}
              </>
            ) : (
              <button
                type="button"
                className="memory-entry"
                aria-current={row.path === chosen ? "true" : undefined}
                onClick={() => choose(row.path)}
                data-item
              >
                <Icon name="file" size={14} />
                <span className="mono truncate grow">
                  <span className="visually-hidden">{row.path.slice(0, -row.name.length)}</span>
                  {row.name}
                </span>
                <span className="muted small">{bytes(row.size)}</span>
              </button>
            )}
          </li>
        ))}
      </ul>
      <Confirm
        open={deleting !== undefined}
        onClose={() => setDeleting(undefined)}
        title={`Delete ${deleting}/ and everything in it?`}
        action="Delete the folder"
        run={async () => {
          if (deleting === undefined) return;
          if (chosen?.startsWith(`${deleting}/`)) choose(undefined);
          await deleteMemory(agentId, deleting);
          await client.invalidateQueries({ queryKey: ["agents", agentId, "memory"], exact: true });
        }}
      >
        The agent will not remember what its files hold.
      </Confirm>
    </>
  );
}

function NewFile({ agentId, open, taken, onClose, choose }: {
  agentId: string;
  open: boolean;
  taken: (path: string) => boolean;
  onClose: () => void;
  choose: (path: string) => void;
}) {
  const client = useQueryClient();
  const [path, setPath] = useState("");
  const [content, setContent] = useState("");
  const [problem, setProblem] = useState<string>();
  const save = async (): Promise<void> => {
    const name = pathOf(path);
    if (name === "") return setProblem("Give the file a path, such as notes/tea.md.");
    if (taken(name)) return setProblem("There is a file of this name. Choose another one, or open it and edit it.");
    try {
      await writeMemory(agentId, name, { content });
    } catch (error) {
      return setProblem(explain(error));
    }
    await client.invalidateQueries({ queryKey: ["agents", agentId, "memory"] });
    setPath("");
    setContent("");
    setProblem(undefined);
    onClose();
    choose(name);
  };
  return (
    <Dialog open={open} onClose={onClose} title="New file">
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <Field label="Path" problem={problem} help="Folders are made as needed.">
          <input className="input mono" value={path} placeholder="notes/tea.md" autoFocus onChange={(event) => setPath(event.target.value)} />
        </Field>
        <Field label="Content">
          <textarea className="input mono" rows={8} value={content} onChange={(event) => setContent(event.target.value)} />
        </Field>
        <div className="dialog-actions">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary">
            Save
          </button>
        </div>
      </form>
    </Dialog>
  );
}
