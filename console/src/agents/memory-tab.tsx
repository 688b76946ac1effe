// The agent's files: a list at the left, the chosen one at the right, as text to read and to edit.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { deleteMemory, queries, writeMemory } from "../api/operations.ts";
import type { MemoryFile } from "../api/types.ts";
import { Confirm, Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { bytes, moment, plural } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { Markdown } from "../ui/markdown.tsx";
import { Empty, explain, Failed, Skeleton, SkeletonRows } from "../ui/state.tsx";
import { toast } from "../ui/toast.tsx";

const from = "/app/agents/$agentId/memory" as const;

export function MemoryTab() {
  const { agentId } = useParams({ from });
  const { file } = useSearch({ from });
  const memory = useQuery(queries.memory(agentId));
  const [making, setMaking] = useState(false);
  const navigate = useNavigate();
  const choose = (path: string | undefined): void =>
    void navigate({ to: "/agents/$agentId/memory", params: { agentId }, search: path === undefined ? {} : { file: path } });
  if (memory.isPending) return <SkeletonRows rows={6} height={34} label="Loading the memory" />;
  if (memory.isError) return <Failed what="The memory did not load" error={memory.error} retry={() => void memory.refetch()} />;
  const files = memory.data.entries.filter((entry) => entry.type !== "folder" && entry.type !== "directory" && entry.type !== "dir");
  const create = (
    <button type="button" className="button" onClick={() => setMaking(true)}>
      <Icon name="plus" /> New file
    </button>
  );
  return (
    <>
      {files.length === 0 ? (
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
            <ul className="plain">
              {files.map((entry) => (
                <li key={entry.path}>
                  <button
                    type="button"
                    className="memory-entry"
                    aria-current={entry.path === file ? "true" : undefined}
                    onClick={() => choose(entry.path)}
                    data-item
                  >
                    <Icon name="file" size={14} />
                    <span className="mono truncate grow">{entry.path}</span>
                    <span className="muted small">{bytes(entry.size)}</span>
                  </button>
                </li>
              ))}
            </ul>
            {memory.data.truncated && <p className="muted small">Only the first 2,000 entries are listed.</p>}
          </nav>
          <section className="card memory-file" aria-label="File">
            {file === undefined ? (
              <Empty icon="file" title="Choose a file">
                It opens here to read and to edit.
              </Empty>
            ) : (
              <FileView key={file} agentId={agentId} path={file} close={() => choose(undefined)} />
            )}
          </section>
        </div>
      )}
      <NewFile agentId={agentId} open={making} onClose={() => setMaking(false)} choose={choose} />
    </>
  );
}

function FileView({ agentId, path, close }: { agentId: string; path: string; close: () => void }) {
  // A file that is being deleted is not asked for again, whatever says in the meantime that the memory has changed.
  const [leaving, setLeaving] = useState(false);
  const file = useQuery({ ...queries.memoryFile(agentId, path), enabled: !leaving });
  const client = useQueryClient();
  const [deleting, setDeleting] = useState(false);
  const [editing, setEditing] = useState(false);
  return (
    <>
      <header className="memory-file-head">
        <button type="button" className="button quiet icon small memory-back" aria-label="All files" onClick={close}>
          <span className="turn back">
            <Icon name="chevron" />
          </span>
        </button>
        <h2 className="mono truncate grow">{path}</h2>
        {file.data && (
          <span className="muted small memory-when" title={moment(file.data.updatedAt)}>
            {bytes(file.data.size)}
          </span>
        )}
        {file.data?.encoding === "utf8" && !editing && (
          <button type="button" className="button small" onClick={() => setEditing(true)}>
            <Icon name="edit" size={14} /> Edit
          </button>
        )}
        <button type="button" className="button quiet icon small" aria-label="Delete the file" title="Delete" onClick={() => setDeleting(true)}>
          <Icon name="trash" size={15} />
        </button>
      </header>
      {file.isPending ? (
        <div className="memory-body stack" role="status" aria-label="Loading the file">
          <Skeleton width="70%" />
          <Skeleton width="90%" />
          <Skeleton width="55%" />
        </div>
      ) : file.isError ? (
        <Failed what="The file did not load" error={file.error} retry={() => void file.refetch()} />
      ) : editing ? (
        <Editor agentId={agentId} file={file.data} done={() => setEditing(false)} />
      ) : (
        <FileBody file={file.data} />
      )}
      <Confirm
        open={deleting}
        onClose={() => setDeleting(false)}
        title={`Delete ${path}?`}
        action="Delete the file"
        run={async () => {
          setLeaving(true);
          try {
            await deleteMemory(agentId, path);
          } catch (refused) {
            setLeaving(false);
            throw refused;
          }
          close();
          void client.invalidateQueries({ queryKey: ["agents", agentId, "memory"] });
        }}
      >
        The agent will not remember what it holds.
      </Confirm>
    </>
  );
}

function FileBody({ file }: { file: MemoryFile }) {
  if (file.encoding !== "utf8") {
    return (
      <Empty icon="file" title="Not text">
        {`${bytes(file.size)} of ${file.mimeType || "binary data"}.`}
      </Empty>
    );
  }
  if (!file.content) return <p className="memory-body muted">The file is empty.</p>;
  if (/\.(md|markdown)$/i.test(file.path)) {
    return (
      <div className="memory-body">
        <Markdown text={file.content} />
      </div>
    );
  }
  return (
    <pre className="memory-body" tabIndex={0} aria-label="Content">
      {file.content}
    </pre>
  );
}

function Editor({ agentId, file, done }: { agentId: string; file: MemoryFile; done: () => void }) {
  const client = useQueryClient();
  const [text, setText] = useState(file.content ?? "");
  const [busy, setBusy] = useState(false);
  const save = async (): Promise<void> => {
    setBusy(true);
    try {
      await writeMemory(agentId, file.path, text);
      await client.invalidateQueries({ queryKey: ["agents", agentId, "memory"] });
      toast("Saved.");
      done();
    } catch (error) {
      toast(`Not saved: ${explain(error)}`, { bad: true });
      setBusy(false);
    }
  };
  return (
    <form
      className="memory-editor"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void save();
      }}
    >
      <textarea className="input mono" aria-label="Content of the file" value={text} autoFocus onChange={(event) => setText(event.target.value)} />
      <div className="row">
        <button type="submit" className="button primary small" disabled={busy}>
          {busy ? "Saving…" : "Save"}
        </button>
        <button type="button" className="button quiet small" onClick={done}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function NewFile({ agentId, open, onClose, choose }: { agentId: string; open: boolean; onClose: () => void; choose: (path: string) => void }) {
  const client = useQueryClient();
  const [path, setPath] = useState("");
  const [content, setContent] = useState("");
  const [problem, setProblem] = useState<string>();
  const save = async (): Promise<void> => {
    const name = path.trim().replace(/^(~\/memory)?\/+/, "");
    if (name === "") {
      setProblem("Give the file a path, such as notes/tea.md.");
      return;
    }
    try {
      await writeMemory(agentId, name, content);
    } catch (error) {
      setProblem(explain(error));
      return;
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
