import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { deleteSecret, queries, setSecret } from "../api/operations.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { explain } from "../ui/state.tsx";
import { Ago } from "../ui/time.tsx";
import { toast } from "../ui/toast.tsx";
import { Remove, SettingsHead, SettingsList } from "./list.tsx";

export function SecretsPage() {
  const secrets = useQuery(queries.secrets());
  const client = useQueryClient();
  const [open, setOpen] = useState(false);
  return (
    <>
      <SettingsHead
        title="Secrets"
        about="Keys and passwords, by name. They can be replaced and deleted, and never read."
        action={
          <button type="button" className="button primary" onClick={() => setOpen(true)}>
            <Icon name="plus" /> Store a secret
          </button>
        }
      />
      <SettingsList
        query={secrets}
        what="the secrets"
        icon="lock"
        empty="No secrets yet"
        emptyText="Providers keep their keys here. You can store others by name."
        rowKey={(secret) => secret.id}
        row={(secret) => (
          <div className="settings-row">
            <code className="grow truncate">{secret.name}</code>
            <span className="muted small">
              stored <Ago at={secret.updatedAt} />
            </span>
            <Remove
              label={`Delete ${secret.name}`}
              title={`Delete ${secret.name}?`}
              text="What uses it stops to work until it is stored again."
              action="Delete the secret"
              run={async () => {
                await deleteSecret(secret.name);
                await client.invalidateQueries({ queryKey: ["secrets"] });
              }}
            />
          </div>
        )}
      />
      <Dialog open={open} onClose={() => setOpen(false)} title="Store a secret">
        <SecretForm done={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function SecretForm({ done }: { done: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const [problem, setProblem] = useState<string>();
  const save = async (): Promise<void> => {
    try {
      await setSecret(name.trim(), value);
      await client.invalidateQueries({ queryKey: ["secrets"] });
      toast(`${name.trim()} is stored.`);
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
      <Field label="Name" help="A secret of that name is replaced.">
        <input className="input mono" value={name} autoFocus autoComplete="off" onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field label="Value" problem={problem}>
        <input className="input mono" type="password" autoComplete="off" value={value} onChange={(event) => setValue(event.target.value)} />
      </Field>
      <div className="dialog-actions">
        <button type="button" className="button" onClick={done}>
          Cancel
        </button>
        <button type="submit" className="button primary" disabled={name.trim() === "" || value === ""}>
          Store
        </button>
      </div>
    </form>
  );
}
