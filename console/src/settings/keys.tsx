import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { addKey, deleteKey, queries } from "../api/operations.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { explain } from "../ui/state.tsx";
import { Ago } from "../ui/time.tsx";
import { Remove, SettingsHead, SettingsList } from "./list.tsx";

export function KeysPage() {
  const keys = useQuery(queries.keys());
  const client = useQueryClient();
  const [open, setOpen] = useState(false);
  return (
    <>
      <SettingsHead
        title="Linked keys"
        about="Keys of desktop clients and programs that act as this account over the signed protocol."
        action={
          <button type="button" className="button primary" onClick={() => setOpen(true)}>
            <Icon name="plus" /> Link a key
          </button>
        }
      />
      <SettingsList
        query={keys}
        what="the keys"
        icon="key"
        empty="No linked keys"
        emptyText="A desktop client shows its key, which begins with z6Mk. Link it here and it sees your agents."
        rowKey={(key) => key.key}
        row={(key) => (
          <div className="settings-row">
            <div className="grow">
              <strong>{key.name || "Unnamed key"}</strong>
              <div className="mono small muted truncate">{key.key}</div>
            </div>
            <span className="muted small">
              linked <Ago at={key.createdAt} />
            </span>
            <Remove
              label={`Unlink ${key.name || "the key"}`}
              title={`Unlink ${key.name || "this key"}?`}
              text="Clients that use it lose access to the account at once."
              action="Unlink the key"
              run={async () => {
                await deleteKey(key.key);
                await client.invalidateQueries({ queryKey: ["keys"] });
              }}
            />
          </div>
        )}
      />
      <Dialog open={open} onClose={() => setOpen(false)} title="Link a key">
        <KeyForm done={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function KeyForm({ done }: { done: () => void }) {
  const client = useQueryClient();
  const [key, setKey] = useState("");
  const [name, setName] = useState("");
  const [problem, setProblem] = useState<string>();
  const save = async (): Promise<void> => {
    try {
      await addKey(key.trim(), name.trim());
      await client.invalidateQueries({ queryKey: ["keys"] });
      done();
    } catch (error) {
      setProblem(explain(error));
    }
  };
  return (
    <form
      className="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <Field label="Key" problem={problem} help="Whoever has it will act as you.">
        <input className="input mono" value={key} autoFocus autoComplete="off" placeholder="z6Mk…" onChange={(event) => setKey(event.target.value)} />
      </Field>
      <Field label="Name">
        <input className="input" value={name} placeholder="Laptop" onChange={(event) => setName(event.target.value)} />
      </Field>
      <div className="dialog-actions">
        <button type="button" className="button" onClick={done}>
          Cancel
        </button>
        <button type="submit" className="button primary" disabled={key.trim() === ""}>
          Link
        </button>
      </div>
    </form>
  );
}
