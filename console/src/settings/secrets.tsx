import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { deleteSecret, queries, setSecret } from "../api/operations.ts";
import { Field } from "../ui/field.tsx";
import { Ago } from "../ui/time.tsx";
import { toast } from "../ui/toast.tsx";
import { Remove, SettingsForm, SettingsPage } from "./list.tsx";

export function SecretsPage() {
  const secrets = useQuery(queries.secrets());
  const client = useQueryClient();
  return (
    <SettingsPage
      title="Secrets"
      about="Keys and passwords, by name. They can be replaced and deleted, and never read."
      add={{ button: "Store a secret", title: "Store a secret", form: (done) => <SecretForm done={done} /> }}
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
  );
}

function SecretForm({ done }: { done: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const save = async (): Promise<void> => {
    await setSecret(name.trim(), value);
    await client.invalidateQueries({ queryKey: ["secrets"] });
    toast(`${name.trim()} is stored.`);
    done();
  };
  return (
    <SettingsForm action="Store" ready={name.trim() !== "" && value !== ""} save={save} done={done}>
      {(problem) => (
        <>
          <Field label="Name" help="A secret of that name is replaced.">
            <input className="input mono" value={name} autoFocus autoComplete="off" onChange={(event) => setName(event.target.value)} />
          </Field>
          <Field label="Value" problem={problem}>
            <input className="input mono" type="password" autoComplete="off" value={value} onChange={(event) => setValue(event.target.value)} />
          </Field>
        </>
      )}
    </SettingsForm>
  );
}
