import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { deleteProvider, queries, setProvider, setSecret } from "../api/operations.ts";
import type { Provider, ProviderType } from "../api/types.ts";
import { Field } from "../ui/field.tsx";
import { plural } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { explain, Failed, SkeletonRows } from "../ui/state.tsx";
import { Ago } from "../ui/time.tsx";
import { Remove, SettingsForm, SettingsPage } from "./list.tsx";

export function ProvidersPage() {
  const providers = useQuery(queries.providers());
  return (
    <SettingsPage
      title="Providers"
      about="Where language models come from. Agents name a provider and one of its models."
      add={{ button: "Connect a provider", title: "Connect a provider", form: (done) => <ProviderForm done={done} /> }}
      query={providers}
      what="the providers"
      icon="system"
      empty="No provider yet"
      emptyText="Connect one with its key, or a model server of your own, so that agents have a model to run on."
      rowKey={(provider) => provider.id}
      row={(provider) => <ProviderRow provider={provider} />}
    />
  );
}

/** How a provider fared when it was asked last. */
function Fared({ provider }: { provider: Provider }) {
  const { lastErrorAt = 0, lastSuccessAt = 0 } = provider;
  if (lastErrorAt > lastSuccessAt) {
    return (
      <span className="wrap-words">
        <span className="status bad">Failed</span> <Ago at={lastErrorAt} />: {provider.lastError}
      </span>
    );
  }
  return (
    <span className="muted">
      {lastSuccessAt > 0 ? (
        <>
          Answered <Ago at={lastSuccessAt} />
        </>
      ) : (
        <>
          Connected <Ago at={provider.updatedAt} />, not asked yet
        </>
      )}
    </span>
  );
}

function ProviderRow({ provider }: { provider: Provider }) {
  const client = useQueryClient();
  const types = useQuery(queries.providerTypes());
  const test = useQuery({ ...queries.models(provider.name), enabled: false });
  return (
    <div className="settings-row">
      <div className="grow">
        <div className="row wrap">
          <strong className="truncate">{provider.name}</strong>
          <span className="chip">{types.data?.find((type) => type.name === provider.type)?.label ?? provider.type}</span>
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
            <Fared provider={provider} />
          )}
        </div>
      </div>
      <button type="button" className="button small" disabled={test.isFetching} onClick={() => void test.refetch().then(() => client.invalidateQueries({ queryKey: ["providers"], exact: true }))}>
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

function ProviderForm({ done }: { done: () => void }) {
  const types = useQuery(queries.providerTypes());
  if (types.isError) return <Failed what="The kinds of providers did not load" error={types.error} retry={() => void types.refetch()} />;
  if (!types.data) return <SkeletonRows rows={4} height={56} label="Loading the form" />;
  return <ProviderFields types={types.data} done={done} />;
}

function ProviderFields({ types, done }: { types: readonly ProviderType[]; done: () => void }) {
  const client = useQueryClient();
  const [typeName, setTypeName] = useState(types[0]?.name ?? "");
  const [name, setName] = useState("");
  const [key, setKey] = useState("");
  const [url, setUrl] = useState("");
  const [missing, setMissing] = useState<{ field: "key" | "url"; text: string }>();
  const type = types.find((entry) => entry.name === typeName);
  if (!type) return null;
  const needsUrl = type.customUrl && !type.baseUrl;
  const save = async (): Promise<void> => {
    if (type.needsKey && key.trim() === "") return setMissing({ field: "key", text: `${type.label} needs an API key.` });
    if (needsUrl && url.trim() === "") return setMissing({ field: "url", text: "Say where the server is." });
    setMissing(undefined);
    const provider = name.trim() || type.name;
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
  };
  return (
    <SettingsForm action="Connect" busyAction="Connecting…" save={save} done={done}>
      {(problem) => (
        <>
          <Field label="Kind">
            <select className="input" value={typeName} autoFocus onChange={(event) => setTypeName(event.target.value)}>
              {types.map((entry) => (
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
            <Field
              label="Address"
              problem={missing?.field === "url" ? missing.text : undefined}
              help={needsUrl ? "Any server that speaks the dialect of OpenAI’s chat completions." : undefined}
            >
              <input
                className="input mono"
                type="url"
                value={url}
                placeholder={type.baseUrl ?? "http://localhost:8000/v1"}
                onChange={(event) => setUrl(event.target.value)}
              />
            </Field>
          )}
          {type.takesKey && (
            <Field
              label={type.needsKey ? "API key" : "API key, if it wants one"}
              problem={missing?.field === "key" ? missing.text : undefined}
              help="Sealed on the server. It is never shown again."
            >
              <input className="input mono" type="password" autoComplete="off" value={key} onChange={(event) => setKey(event.target.value)} />
            </Field>
          )}
          {problem !== undefined && (
            <div className="notice bad" role="alert">
              {problem}
            </div>
          )}
        </>
      )}
    </SettingsForm>
  );
}
