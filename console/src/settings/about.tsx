import { useQuery } from "@tanstack/react-query";
import { queries } from "../api/operations.ts";
import { Failed, SkeletonRows } from "../ui/state.tsx";
import { SettingsHead } from "./list.tsx";

interface Notice {
  name: string;
  version: string;
  licence: string;
  text: string;
}

/** Written by the build from what stands in the bundle. */
const useNotices = () =>
  useQuery({
    queryKey: ["licences"],
    queryFn: async ({ signal }) => {
      const response = await fetch("/licences.json", { signal });
      if (!response.ok) throw new Error(`The server answered ${response.status}.`);
      return (await response.json()) as Notice[];
    },
    staleTime: Infinity,
  });

export function AboutPage() {
  const me = useQuery(queries.me());
  const notices = useNotices();
  const server = me.data?.server;
  return (
    <>
      <SettingsHead title="About" about="Loam is free software under the Apache License 2.0." />
      {me.isError ? (
        <Failed what="The server's facts did not load" error={me.error} retry={() => void me.refetch()} />
      ) : (
        <section className="card pad about-facts" aria-label="This server">
          <dl className="facts">
            <div>
              <dt>Version</dt>
              <dd>{server?.version ?? "\u00a0"}</dd>
            </div>
            <div>
              <dt>Protocol</dt>
              <dd>{server?.protocol ?? "\u00a0"}</dd>
            </div>
            <div>
              <dt>Who may act</dt>
              <dd>{server ? (server.accounts === "open" ? "any key" : "known accounts") : "\u00a0"}</dd>
            </div>
            <div>
              <dt>Public address</dt>
              <dd>{server ? server.publicUrl || "this machine only" : "\u00a0"}</dd>
            </div>
            <div className="facts-wide">
              <dt>Your account</dt>
              <dd className="mono small">{me.data?.account ?? "\u00a0"}</dd>
            </div>
          </dl>
        </section>
      )}
      <h2 className="settings-sub">Built with</h2>
      <p className="muted settings-note">What stands in this page. The release archives carry the licences of the server itself.</p>
      {notices.isPending ? (
        <SkeletonRows rows={4} label="Loading the licences" />
      ) : notices.isError ? (
        <Failed what="The licences did not load" error={notices.error} retry={() => void notices.refetch()} />
      ) : (
        <div className="card settings-list">
          {notices.data.map((notice) => (
            <details key={notice.name} className="licence">
              <summary>
                <span className="grow">{notice.name}</span>
                <span className="muted small">{notice.version}</span>
                <span className="chip">{notice.licence}</span>
              </summary>
              <pre tabIndex={0} aria-label={`Licence of ${notice.name}`}>
                {notice.text}
              </pre>
            </details>
          ))}
        </div>
      )}
    </>
  );
}
