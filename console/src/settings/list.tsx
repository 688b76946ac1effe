// The frame that the lists of the settings share: a head with what it is for and what can be added, rows, their three other
// states, and the form that adds one.
import type { UseQueryResult } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { Confirm, Dialog } from "../ui/dialog.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Empty, explain, Failed, SkeletonRows } from "../ui/state.tsx";
import { useTitle } from "../ui/title.ts";

/** What a list can get more of: the button of the page's head and the dialog behind it. */
export interface Adding {
  button: string;
  title: string;
  disabled?: boolean;
  form: (done: () => void) => ReactNode;
}

interface List<T> {
  query: UseQueryResult<T[]>;
  /** Such as "the tokens". */
  what: string;
  icon: IconName;
  empty: string;
  emptyText: string;
  row: (item: T) => ReactNode;
  rowKey: (item: T) => string;
}

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

export function SettingsPage<T>({ title, about, add, note, ...list }: List<T> & { title: string; about: string; add?: Adding; note?: ReactNode }) {
  const [open, setOpen] = useState(false);
  const close = (): void => setOpen(false);
  return (
    <>
      <SettingsHead
        title={title}
        about={about}
        action={
          add && (
            <button type="button" className="button primary" disabled={add.disabled} onClick={() => setOpen(true)}>
              <Icon name="plus" /> {add.button}
            </button>
          )
        }
      />
      {note}
      <SettingsList {...list} />
      {add && (
        <Dialog open={open} onClose={close} title={add.title}>
          {add.form(close)}
        </Dialog>
      )}
    </>
  );
}

export function SettingsList<T>({ query, what, icon, empty, emptyText, row, rowKey }: List<T>) {
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
      <Empty icon={icon} title={empty}>
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

/** The form of such a dialog. What save rejects with is shown; the dialog stays open. */
export function SettingsForm({ children, action, busyAction = action, ready = true, save, done, problem }: {
  children: (problem: string | undefined) => ReactNode;
  action: string;
  busyAction?: string;
  ready?: boolean;
  save: () => Promise<unknown>;
  done: () => void;
  /** What went wrong, in words. */
  problem?: (error: unknown) => string;
}) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const submit = async (): Promise<void> => {
    setBusy(true);
    setFailure(undefined);
    try {
      await save();
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {children(failure === undefined ? undefined : (problem ?? explain)(failure))}
      <div className="dialog-actions">
        <button type="button" className="button" onClick={done}>
          Cancel
        </button>
        <button type="submit" className="button primary" disabled={busy || !ready}>
          {busy ? busyAction : action}
        </button>
      </div>
    </form>
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
