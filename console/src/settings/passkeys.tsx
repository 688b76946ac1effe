import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { deletePasskey, queries } from "../api/operations.ts";
import { Field } from "../ui/field.tsx";
import { explain } from "../ui/state.tsx";
import { Ago } from "../ui/time.tsx";
import { Remove, SettingsForm, SettingsPage } from "./list.tsx";
import { passkeysSupported, registerPasskey } from "./webauthn.ts";

export function PasskeysPage() {
  const passkeys = useQuery(queries.passkeys());
  const client = useQueryClient();
  return (
    <SettingsPage
      title="Passkeys"
      about="Sign in with this device or a security key instead of a link."
      add={{ button: "Add a passkey", title: "Add a passkey", disabled: !passkeysSupported(), form: (done) => <PasskeyForm done={done} /> }}
      note={
        !passkeysSupported() && <p className="notice warn settings-note">This browser offers passkeys only over https, or when the address is localhost.</p>
      }
      query={passkeys}
      what="the passkeys"
      icon="key"
      empty="No passkeys yet"
      emptyText="With a passkey you sign in without asking the server for a link."
      rowKey={(passkey) => passkey.id}
      row={(passkey) => (
        <div className="settings-row">
          <strong className="grow truncate">{passkey.name || "Passkey"}</strong>
          <span className="muted small">
            added <Ago at={passkey.createdAt} />
          </span>
          <Remove
            label={`Remove ${passkey.name || "the passkey"}`}
            title={`Remove ${passkey.name || "this passkey"}?`}
            text="It can no longer be used to sign in here."
            action="Remove the passkey"
            run={async () => {
              await deletePasskey(passkey.id);
              await client.invalidateQueries({ queryKey: ["passkeys"] });
            }}
          />
        </div>
      )}
    />
  );
}

const refusedWords = (error: unknown): string =>
  error instanceof DOMException && error.name === "NotAllowedError" ? "It was not confirmed on the device." : explain(error);

function PasskeyForm({ done }: { done: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const save = async (): Promise<void> => {
    await registerPasskey(name.trim() || "Passkey");
    await client.invalidateQueries({ queryKey: ["passkeys"] });
    done();
  };
  return (
    <SettingsForm action="Continue" busyAction="Waiting for the device…" save={save} done={done} problem={refusedWords}>
      {(problem) => (
        <Field label="Name" help="Which device is it?" problem={problem}>
          <input className="input" value={name} autoFocus placeholder="Laptop" onChange={(event) => setName(event.target.value)} />
        </Field>
      )}
    </SettingsForm>
  );
}
