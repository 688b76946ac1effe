import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createSignIn, deleteSignIn, queries } from "../api/operations.ts";
import { CopyButton } from "../ui/copy.tsx";
import { moment } from "../ui/format.ts";
import { explain } from "../ui/state.tsx";
import { Ago } from "../ui/time.tsx";
import { signOutHere } from "../frame/session.ts";
import { Remove, SettingsPage } from "./list.tsx";

/** A browser's own description, reduced to what a person recognises. */
export function browserName(agent: string | undefined): string {
  if (!agent) return "A browser";
  const browser = /Edg\//.test(agent) ? "Edge" : /Firefox\//.test(agent) ? "Firefox" : /Chrom(e|ium)\//.test(agent) ? "Chrome" : /Safari\//.test(agent) ? "Safari" : "A browser";
  const system = /Android/.test(agent) ? "Android" : /iPhone|iPad/.test(agent) ? "iOS" : /Mac OS/.test(agent) ? "macOS" : /Windows/.test(agent) ? "Windows" : /Linux/.test(agent) ? "Linux" : "";
  return system ? `${browser} on ${system}` : browser;
}

export function SignInsPage() {
  const list = useQuery(queries.signIns());
  const client = useQueryClient();
  return (
    <SettingsPage
      title="Sign-ins"
      about="Browsers that are signed in to this account."
      add={{ button: "Another device", title: "Sign in another device", form: (done) => <LinkView done={done} /> }}
      query={list}
      what="the sign-ins"
      icon="user"
      empty="No browser is signed in"
      emptyText="This page is used with a token."
      rowKey={(entry) => entry.id}
      row={(entry) => (
        <div className="settings-row">
          <div className="grow">
            <div className="row">
              <strong>{browserName(entry.userAgent)}</strong>
              {entry.current && <span className="chip accent">this one</span>}
            </div>
            <div className="muted small">
              signed in with a {entry.method === "passkey" ? "passkey" : "link"} on {moment(entry.createdAt)}
              {entry.lastUsedAt ? (
                <>
                  , seen <Ago at={entry.lastUsedAt} />
                </>
              ) : null}
            </div>
          </div>
          <Remove
            label="Sign out"
            title={entry.current ? "Sign out here?" : "Sign that browser out?"}
            text="It needs a new link, or a passkey, to come back."
            action="Sign out"
            run={async () => {
              if (entry.current) return signOutHere();
              await deleteSignIn(entry.id);
              await client.invalidateQueries({ queryKey: ["sign-ins"] });
            }}
          />
        </div>
      )}
    />
  );
}

/** A fresh link. It is made when it is asked for, because it lives for minutes. */
function LinkView({ done }: { done: () => void }) {
  const link = useQuery({ queryKey: ["sign-in-link"], queryFn: createSignIn, staleTime: Infinity, gcTime: 0, retry: false });
  return (
    <div className="stack">
      <p>Open this link there. It works once, for the next minutes. Whoever opens it is signed in as you.</p>
      {link.isError ? (
        <div className="notice bad" role="alert">
          {explain(link.error)}
        </div>
      ) : (
        <pre className="token" tabIndex={0} aria-label="The link">
          {link.data?.url ?? " "}
        </pre>
      )}
      <div className="dialog-actions">
        {link.data && <CopyButton text={() => link.data.url} label="Copy" words />}
        <button type="button" className="button primary" onClick={done}>
          Done
        </button>
      </div>
    </div>
  );
}
