// One file of a memory: read, edited, renamed, downloaded, deleted.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError } from "../api/client.ts";
import { deleteMemory, queries, writeMemory, type TaggedFile } from "../api/operations.ts";
import { Confirm, Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { bytes, moment } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { Markdown } from "../ui/markdown.tsx";
import { Empty, explain, Failed, Skeleton } from "../ui/state.tsx";
import { toast } from "../ui/toast.tsx";
import { useUnsaved } from "../ui/unsaved.tsx";
import { pathOf } from "./tree.ts";

interface Place {
  agentId: string;
  /** Whether there is a file of this path. */
  taken: (path: string) => boolean;
  choose: (path: string | undefined) => void;
}

export function FileView({ path, may, ...place }: Place & { path: string; may: boolean }) {
  const { agentId, choose } = place;
  // A file that is being deleted is not asked for again, whatever says in the meantime that the memory has changed.
  const [leaving, setLeaving] = useState(false);
  const file = useQuery({ ...queries.memoryFile(agentId, path), enabled: !leaving });
  const client = useQueryClient();
  const [open, setOpen] = useState<"edit" | "rename" | "delete">();
  const close = (): void => setOpen(undefined);
  const editing = open === "edit" && file.data !== undefined;
  return (
    <>
      <header className="memory-file-head">
        <button type="button" className="button quiet icon small memory-back" aria-label="All files" onClick={() => choose(undefined)}>
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
        {may && file.data?.encoding === "utf8" && !editing && (
          <button type="button" className="button small" onClick={() => setOpen("edit")}>
            <Icon name="edit" size={14} /> Edit
          </button>
        )}
        {file.data && !editing && <Download file={file.data} />}
        {may && file.data && !editing && (
          <button type="button" className="button quiet icon small" aria-label="Rename or move the file" title="Rename or move" onClick={() => setOpen("rename")}>
            <Icon name="move" size={15} />
          </button>
        )}
        {may && (
          <button type="button" className="button quiet icon small" aria-label="Delete the file" title="Delete" onClick={() => setOpen("delete")}>
            <Icon name="trash" size={15} />
          </button>
        )}
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
        <Editor agentId={agentId} now={file.data} done={close} />
      ) : (
        <FileBody file={file.data} />
      )}
      {file.data && <Rename {...place} file={file.data} open={open === "rename"} onClose={close} leave={setLeaving} />}
      <Confirm
        open={open === "delete"}
        onClose={close}
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
          choose(undefined);
          void client.invalidateQueries({ queryKey: ["agents", agentId, "memory"] });
        }}
      >
        The agent will not remember what it holds.
      </Confirm>
    </>
  );
}

const decoded = (data: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));

function Download({ file }: { file: TaggedFile }) {
  const save = (): void => {
    const content = file.encoding === "utf8" ? (file.content ?? "") : decoded(file.data ?? "");
    // Never as what it says that it is: a stranger's page must not open at this address.
    const url = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = file.path.split("/").at(-1) ?? "file";
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  };
  return (
    <button type="button" className="button quiet icon small" aria-label="Download the file" title="Download" onClick={save}>
      <Icon name="download" size={15} />
    </button>
  );
}

function Rename({ agentId, file, taken, choose, open, onClose, leave }: Place & {
  file: TaggedFile;
  open: boolean;
  onClose: () => void;
  leave: (leaving: boolean) => void;
}) {
  const client = useQueryClient();
  const [to, setTo] = useState(file.path);
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const move = async (): Promise<void> => {
    const path = pathOf(to);
    if (path === "") return setProblem("Give the file a path, such as notes/tea.md.");
    if (path === file.path) return onClose();
    if (taken(path)) return setProblem("There is a file of this name.");
    setBusy(true);
    try {
      await writeMemory(agentId, path, file.encoding === "utf8" ? { content: file.content ?? "" } : { data: file.data ?? "" });
      leave(true);
      // What was changed meanwhile stays: then there are two files, and nothing is lost.
      await deleteMemory(agentId, file.path, file.tag);
    } catch (error) {
      leave(false);
      setBusy(false);
      await client.invalidateQueries({ queryKey: ["agents", agentId, "memory"] });
      return setProblem(isStale(error) ? `It was changed meanwhile: ${path} holds what it was, ${file.path} what it is.` : explain(error));
    }
    choose(path);
    void client.invalidateQueries({ queryKey: ["agents", agentId, "memory"] });
  };
  return (
    <Dialog open={open} onClose={onClose} title={`Rename ${file.path}`}>
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void move();
        }}
      >
        <Field label="New path" problem={problem} help="Another folder moves it. What refers to the old path does not learn of it.">
          <input className="input mono" value={to} autoFocus onChange={(event) => setTo(event.target.value)} />
        </Field>
        <div className="dialog-actions">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={busy}>
            Rename
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function FileBody({ file }: { file: TaggedFile }) {
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

const isStale = (error: unknown): boolean => error instanceof ApiError && error.code === "precondition_failed";

function Editor({ agentId, now, done }: { agentId: string; now: TaggedFile; done: () => void }) {
  const client = useQueryClient();
  // What the edit began with. What arrives meanwhile is not put over what somebody types.
  const [file, setFile] = useState(now);
  const [text, setText] = useState(file.content ?? "");
  const [busy, setBusy] = useState(false);
  const [stale, setStale] = useState(false);
  const { guard, settle } = useUnsaved(text !== (file.content ?? ""));
  const refresh = () => client.invalidateQueries({ queryKey: ["agents", agentId, "memory"] });
  const save = async (over = false): Promise<void> => {
    setBusy(true);
    try {
      await writeMemory(agentId, file.path, { content: text }, over ? undefined : file.tag);
      settle();
      await refresh();
      toast("Saved.");
      done();
    } catch (error) {
      // What is there now has to be here before somebody can take it.
      if (isStale(error)) await refresh();
      setStale(isStale(error));
      if (!isStale(error)) toast(`Not saved: ${explain(error)}`, { bad: true });
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
      {stale && (
        <div className="notice warn" role="alert">
          <div className="stack">
            <span>The file was changed while you wrote, perhaps by the agent. Nothing was overwritten, and your text is still here.</span>
            <div className="row wrap">
              <button
                type="button"
                className="button small"
                onClick={() => {
                  setFile(now);
                  setText(now.content ?? "");
                  setStale(false);
                }}
              >
                Take what is there now
              </button>
              <button type="button" className="button small danger" disabled={busy} onClick={() => void save(true)}>
                Overwrite it with mine
              </button>
            </div>
          </div>
        </div>
      )}
      <div className="row">
        <button type="submit" className="button primary small" disabled={busy}>
          {busy ? "Saving…" : "Save"}
        </button>
        <button
          type="button"
          className="button quiet small"
          onClick={() => {
            settle();
            done();
          }}
        >
          Cancel
        </button>
        <span role="status" className="muted small">
          {text === (file.content ?? "") ? "" : "Not saved yet"}
        </span>
      </div>
      {guard}
    </form>
  );
}
