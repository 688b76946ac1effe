// The shape that the lists of the settings share: a head with what it is for, rows, and their three other states.
import type { UseQueryResult } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { Confirm } from "../ui/dialog.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Empty, Failed, SkeletonRows } from "../ui/state.tsx";
import { useTitle } from "../ui/title.ts";

export function SettingsHead({ title, about, action }: { title: string; about: string; action?: ReactNode }) {
  useTitle(title);
  return (
    <div className="page-head">
      <h1>{title}</h1>
      <span className="grow" />
      {action}
      <p className="about">{about}</p>
    </div>
  );
}

export function SettingsList<T>({ query, what, icon, empty, emptyText, emptyAction, row, rowKey }: {
  query: UseQueryResult<T[]>;
  what: string;
  icon: IconName;
  empty: string;
  emptyText: string;
  emptyAction?: ReactNode;
  row: (item: T) => ReactNode;
  rowKey: (item: T) => string;
}) {
  if (query.isPending) {
    return (
      <div className="card">
        <SkeletonRows rows={3} height={56} label={`Loading ${what}`} />
      </div>
    );
  }
  if (query.isError) {
    return <Failed what={`${what[0]?.toUpperCase()}${what.slice(1)} did not load`} error={query.error} retry={() => void query.refetch()} />;
  }
  if (query.data.length === 0) {
    return (
      <Empty icon={icon} title={empty} action={emptyAction}>
        {emptyText}
      </Empty>
    );
  }
  return (
    <ul className="plain card settings-list">
      {query.data.map((item) => (
        <li key={rowKey(item)}>{row(item)}</li>
      ))}
    </ul>
  );
}

/** A button that destroys something after asking. */
export function Remove({ label, title, text, action, run }: {
  label: string;
  title: string;
  text: string;
  action: string;
  run: () => Promise<unknown>;
}) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button quiet icon small" aria-label={label} title={label} onClick={() => setOpen(true)}>
        <Icon name="trash" size={15} />
      </button>
      <Confirm open={open} onClose={() => setOpen(false)} title={title} action={action} run={run}>
        {text}
      </Confirm>
    </>
  );
}
