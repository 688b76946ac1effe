import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { deletePasskey, queries } from "../api/operations.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Icon } from "../ui/icon.tsx";
import { explain } from "../ui/state.tsx";
import { Ago } from "../ui/time.tsx";
import { Remove, SettingsHead, SettingsList } from "./list.tsx";
import { passkeysSupported, registerPasskey } from "./webauthn.ts";

export function PasskeysPage() {
  const passkeys = useQuery(queries.passkeys());
  const client = useQueryClient();
  const [open, setOpen] = useState(false);
  return (
    <>
      <SettingsHead
        title="Passkeys"
        about="Sign in with this device or a security key instead of a link."
        action={
          <button type="button" className="button primary" disabled={!passkeysSupported()} onClick={() => setOpen(true)}>
            <Icon name="plus" /> Add a passkey
          </button>
        }
      />
      {!passkeysSupported() && (
        <p className="notice warn settings-note">This browser offers passkeys only over https, or when the address is localhost.</p>
      )}
      <SettingsList
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
      <Dialog open={open} onClose={() => setOpen(false)} title="Add a passkey">
        <PasskeyForm done={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function PasskeyForm({ done }: { done: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const save = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await registerPasskey(name.trim() || "Passkey");
      await client.invalidateQueries({ queryKey: ["passkeys"] });
      done();
    } catch (error) {
      setProblem(error instanceof DOMException && error.name === "NotAllowedError" ? "It was not confirmed on the device." : explain(error));
      setBusy(false);
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
      <Field label="Name" help="Which device is it?" problem={problem}>
        <input className="input" value={name} autoFocus placeholder="Laptop" onChange={(event) => setName(event.target.value)} />
      </Field>
      <div className="dialog-actions">
        <button type="button" className="button" onClick={done}>
          Cancel
        </button>
        <button type="submit" className="button primary" disabled={busy}>
          {busy ? "Waiting for the device…" : "Continue"}
        </button>
      </div>
    </form>
  );
}
