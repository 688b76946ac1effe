import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { deleteProvider, queries, setProvider, setSecret } from "../api/operations.ts";
import type { Provider } from "../api/types.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { plural } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { explain } from "../ui/state.tsx";
import { Ago } from "../ui/time.tsx";
import { Remove, SettingsHead, SettingsList } from "./list.tsx";
import { providerTypes, typeNamed } from "./provider-types.ts";

export function ProvidersPage() {
  const providers = useQuery(queries.providers());
  const [open, setOpen] = useState(false);
  const add = (
    <button type="button" className="button primary" onClick={() => setOpen(true)}>
      <Icon name="plus" /> Connect a provider
    </button>
  );
  return (
    <>
      <SettingsHead title="Providers" about="Where language models come from. Agents name a provider and one of its models." action={add} />
      <SettingsList
        query={providers}
        what="the providers"
        icon="system"
        empty="No provider yet"
        emptyText="Connect one with its key, or a model server of your own, so that agents have a model to run on."
        rowKey={(provider) => provider.id}
        row={(provider) => <ProviderRow provider={provider} />}
      />
      <ProviderDialog open={open} onClose={() => setOpen(false)} />
    </>
  );
}

function ProviderRow({ provider }: { provider: Provider }) {
  const client = useQueryClient();
  const type = typeNamed(provider.type);
  const test = useQuery({ ...queries.models(provider.name), enabled: false });
  return (
    <div className="settings-row">
      <div className="grow">
        <div className="row wrap">
          <strong className="truncate">{provider.name}</strong>
          <span className="chip">{type?.label ?? provider.type}</span>
          {provider.hasSecrets && (
            <span className="chip">
              <Icon name="key" size={12} /> key stored
            </span>
          )}
        </div>
        <div className="small provider-state" role="status">
          {test.isFetching ? (
            <span className="status live">Asking for its models…</span>
          ) : test.isError ? (
            <span className="status bad wrap-words">{explain(test.error)}</span>
          ) : test.data ? (
            <span className="status ok">Works: {plural(test.data.length, "model")}</span>
          ) : (
            <span className="muted">
              Connected <Ago at={provider.updatedAt} />
            </span>
          )}
        </div>
      </div>
      <button type="button" className="button small" disabled={test.isFetching} onClick={() => void test.refetch()}>
        Test
      </button>
      <Remove
        label={`Disconnect ${provider.name}`}
        title={`Disconnect ${provider.name}?`}
        text="Agents that use it cannot answer until they get another model. Its stored key stays under Secrets."
        action="Disconnect"
        run={async () => {
          await deleteProvider(provider.name);
          await client.invalidateQueries({ queryKey: ["providers"] });
        }}
      />
    </div>
  );
}

function ProviderDialog({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Connect a provider">
      <ProviderForm done={onClose} />
    </Dialog>
  );
}

function ProviderForm({ done }: { done: () => void }) {
  const client = useQueryClient();
  const [typeName, setTypeName] = useState(providerTypes[0]?.name ?? "");
  const [name, setName] = useState("");
  const [key, setKey] = useState("");
  const [url, setUrl] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<{ field: "key" | "url" | "form"; text: string }>();
  const type = typeNamed(typeName);
  if (!type) return null;
  const save = async (): Promise<void> => {
    if (type.needsKey && key.trim() === "") return setProblem({ field: "key", text: `${type.label} needs an API key.` });
    if (type.name === "custom" && url.trim() === "") return setProblem({ field: "url", text: "Say where the server is." });
    setBusy(true);
    setProblem(undefined);
    const provider = name.trim() || type.name;
    try {
      const secret = `${provider}-api-key`;
      if (key.trim() !== "") await setSecret(secret, key.trim());
      await setProvider(provider, {
        type: type.name,
        ...(key.trim() === "" ? {} : { secretRefs: { apiKey: secret } }),
        ...(type.customUrl && url.trim() !== "" ? { baseUrl: url.trim() } : {}),
      });
      void client.invalidateQueries({ queryKey: ["secrets"] });
      await client.invalidateQueries({ queryKey: ["providers"] });
      // Whether it works is what one wants to know next.
      void client.fetchQuery(queries.models(provider)).catch(() => undefined);
      done();
    } catch (error) {
      setProblem({ field: "form", text: explain(error) });
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
      <Field label="Kind">
        <select className="input" value={typeName} autoFocus onChange={(event) => setTypeName(event.target.value)}>
          {providerTypes.map((entry) => (
            <option key={entry.name} value={entry.name}>
              {entry.label}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Name" help="How agents refer to it.">
        <input className="input" value={name} placeholder={type.name} maxLength={100} onChange={(event) => setName(event.target.value)} />
      </Field>
      {type.customUrl && (
        <Field label="Address" problem={problem?.field === "url" ? problem.text : undefined}>
          <input className="input mono" type="url" value={url} placeholder={type.url} onChange={(event) => setUrl(event.target.value)} />
        </Field>
      )}
      {type.name !== "tutor" && (
        <Field
          label={type.needsKey ? "API key" : "API key, if it wants one"}
          problem={problem?.field === "key" ? problem.text : undefined}
          help="Sealed on the server. It is never shown again."
        >
          <input className="input mono" type="password" autoComplete="off" value={key} onChange={(event) => setKey(event.target.value)} />
        </Field>
      )}
      {problem?.field === "form" && (
        <div className="notice bad" role="alert">
          {problem.text}
        </div>
      )}
      <div className="dialog-actions">
        <button type="button" className="button" onClick={done}>
          Cancel
        </button>
        <button type="submit" className="button primary" disabled={busy}>
          {busy ? "Connecting…" : "Connect"}
        </button>
      </div>
    </form>
  );
}
