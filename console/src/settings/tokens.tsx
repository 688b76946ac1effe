import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { createToken, deleteToken, queries } from "../api/operations.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Field } from "../ui/field.tsx";
import { moment } from "../ui/format.ts";
import { Ago } from "../ui/time.tsx";
import { Remove, SettingsForm, SettingsPage } from "./list.tsx";

export function TokensPage() {
  const tokens = useQuery(queries.tokens());
  const client = useQueryClient();
  return (
    <SettingsPage
      title="API tokens"
      about="With a token a program calls the REST API as you: Authorization: Bearer loam_…"
      add={{ button: "New token", title: "New token", form: (done) => <TokenForm done={done} /> }}
      query={tokens}
      what="the tokens"
      icon="key"
      empty="No tokens yet"
      emptyText="Make one for each program, with only the rights that it needs."
      rowKey={(token) => token.id}
      row={(token) => (
        <div className="settings-row">
          <div className="grow">
            <div className="row wrap">
              <strong className="truncate">{token.name}</strong>
              {token.scopes.map((scope) => (
                <span key={scope} className="chip">
                  {scope}
                </span>
              ))}
            </div>
            <div className="muted small">
              {token.lastUsedAt ? (
                <>
                  used <Ago at={token.lastUsedAt} />
                </>
              ) : (
                "never used"
              )}
              {", "}
              {token.expiresAt ? `expires ${moment(token.expiresAt)}` : "does not expire"}
            </div>
          </div>
          <Remove
            label={`Revoke ${token.name}`}
            title={`Revoke ${token.name}?`}
            text="Programs that use it are refused from now on."
            action="Revoke the token"
            run={async () => {
              await deleteToken(token.id);
              await client.invalidateQueries({ queryKey: ["tokens"] });
            }}
          />
        </div>
      )}
    />
  );
}

const scopes = [
  { name: "read", help: "see everything of the account" },
  { name: "write", help: "make and change agents, conversations and memory" },
  { name: "admin", help: "tokens, keys, secrets, providers, sign-ins" },
] as const;

const lives = [
  { days: 30, label: "30 days" },
  { days: 90, label: "90 days" },
  { days: 365, label: "one year" },
  { days: 0, label: "no expiry" },
] as const;

function TokenForm({ done }: { done: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>(["read", "write"]);
  const [days, setDays] = useState(90);
  const [token, setToken] = useState<string>();
  const save = async (): Promise<void> => {
    const expiry = days === 0 ? {} : { expiresAt: Date.now() + days * 86_400_000 };
    setToken((await createToken({ name: name.trim(), scopes: [...chosen], ...expiry })).token);
    await client.invalidateQueries({ queryKey: ["tokens"] });
  };
  if (token !== undefined) {
    return (
      <div className="stack">
        <p>Copy the token now. It is not shown again.</p>
        <pre className="token" tabIndex={0} aria-label="The token">
          {token}
        </pre>
        <div className="dialog-actions">
          <CopyButton text={() => token} label="Copy" words />
          <button type="button" className="button primary" onClick={done}>
            Done
          </button>
        </div>
      </div>
    );
  }
  return (
    <SettingsForm action="Make the token" ready={name.trim() !== "" && chosen.length > 0} save={save} done={done}>
      {(problem) => (
        <>
          <Field label="Name" help="Which program is it for?" problem={problem}>
            <input className="input" value={name} autoFocus autoComplete="off" onChange={(event) => setName(event.target.value)} />
          </Field>
          <fieldset className="choices">
            <legend>It may</legend>
            {scopes.map((scope) => (
              <label key={scope.name} className="check">
                <input
                  type="checkbox"
                  checked={chosen.includes(scope.name)}
                  onChange={(event) => setChosen(event.target.checked ? [...chosen, scope.name] : chosen.filter((other) => other !== scope.name))}
                />
                <span>
                  <strong>{scope.name}</strong> <span className="muted">{scope.help}</span>
                </span>
              </label>
            ))}
          </fieldset>
          <Field label="Expires after">
            <select className="input" value={days} onChange={(event) => setDays(Number(event.target.value))}>
              {lives.map((life) => (
                <option key={life.days} value={life.days}>
                  {life.label}
                </option>
              ))}
            </select>
          </Field>
        </>
      )}
    </SettingsForm>
  );
}
