import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { addKey, deleteKey, queries } from "../api/operations.ts";
import { Field } from "../ui/field.tsx";
import { Ago } from "../ui/time.tsx";
import { Remove, SettingsForm, SettingsPage } from "./list.tsx";

export function KeysPage() {
  const keys = useQuery(queries.keys());
  const client = useQueryClient();
  return (
    <SettingsPage
      title="Linked keys"
      about="Keys of desktop clients and programs that act as this account over the signed protocol."
      add={{ button: "Link a key", title: "Link a key", form: (done) => <KeyForm done={done} /> }}
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
  );
}

function KeyForm({ done }: { done: () => void }) {
  const client = useQueryClient();
  const [key, setKey] = useState("");
  const [name, setName] = useState("");
  const save = async (): Promise<void> => {
    await addKey(key.trim(), name.trim());
    await client.invalidateQueries({ queryKey: ["keys"] });
    done();
  };
  return (
    <SettingsForm action="Link" ready={key.trim() !== ""} save={save} done={done}>
      {(problem) => (
        <>
          <Field label="Key" problem={problem} help="Whoever has it will act as you.">
            <input className="input mono" value={key} autoFocus autoComplete="off" placeholder="z6Mk…" onChange={(event) => setKey(event.target.value)} />
          </Field>
          <Field label="Name">
            <input className="input" value={name} placeholder="Laptop" onChange={(event) => setName(event.target.value)} />
          </Field>
        </>
      )}
    </SettingsForm>
  );
}
