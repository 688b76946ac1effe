import { useQuery, useQueryClient } from "@tanstack/react-query";
import { deleteSignIn, queries } from "../api/operations.ts";
import { moment } from "../ui/format.ts";
import { Ago } from "../ui/time.tsx";
import { signOutHere } from "../frame/session.ts";
import { Remove, SettingsHead, SettingsList } from "./list.tsx";

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
    <>
      <SettingsHead title="Sign-ins" about="Browsers that are signed in. `loam link` prints a link that signs in another one." />
      <SettingsList
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
    </>
  );
}
