// What a place shows while it has nothing to show: it loads, it is empty, it failed.
import type { ReactNode } from "react";
import { ApiError } from "../api/client.ts";
import { Icon, type IconName } from "./icon.tsx";

export function Skeleton({ width = "100%", height = 12 }: { width?: number | string; height?: number }) {
  return <span className="skeleton" style={{ width, height }} />;
}

/** Rows of the height that the loaded ones will have, so that nothing jumps. */
export function SkeletonRows({ rows = 6, height = 40, label = "Loading" }: { rows?: number; height?: number; label?: string }) {
  return (
    <div role="status" aria-label={label}>
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} className="row" style={{ height, padding: "0 12px" }}>
          <Skeleton width={`${34 + ((i * 23) % 40)}%`} />
        </div>
      ))}
    </div>
  );
}

/** `whole` says that nothing else is on the page, so that its title heads the page. */
export function Empty({ icon, title, children, action, whole = false }: {
  icon: IconName;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
  whole?: boolean;
}) {
  const Title = whole ? "h1" : "h2";
  return (
    <div className="state">
      <Icon name={icon} size={32} />
      <Title>{title}</Title>
      {children && <p>{children}</p>}
      {action && <div className="row wrap">{action}</div>}
    </div>
  );
}

/** Says what happened and what to do, and offers to try again. */
export function Failed({ error, retry, what, whole = false }: { error: unknown; retry?: () => void; what: string; whole?: boolean }) {
  const Title = whole ? "h1" : "h2";
  return (
    <div className="state" role="alert">
      <Icon name="error" size={32} />
      <Title>{what}</Title>
      <p>
        {explain(error)}
        {error instanceof ApiError && error.code === "offline" && " It is tried again by itself."}
      </p>
      <div className="row">
        {retry && (
          <button type="button" className="button" onClick={retry}>
            <Icon name="retry" /> Try again
          </button>
        )}
      </div>
    </div>
  );
}

/** An error in words for a person. */
export function explain(error: unknown): string {
  if (error instanceof ApiError) {
    const trace = error.code === "internal_error" && error.requestId ? ` The server's log has more under ${error.requestId}.` : "";
    return error.message + trace;
  }
  return error instanceof Error ? error.message : String(error);
}
