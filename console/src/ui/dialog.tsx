// Modal dialogs on the browser's own <dialog>: it traps the focus, closes on Escape and gives the focus back.
import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import { explain } from "./state.tsx";

export function Dialog({ open, onClose, title, children, className }: {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  className?: string;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (open && dialog && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, [open]);
  if (!open) return null;
  return (
    <dialog
      ref={ref}
      aria-labelledby={id}
      className={className}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === ref.current) onClose();
      }}
    >
      <div className="dialog-body">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

/** Asks before something is destroyed. The action may fail; then the dialog stays and says why. */
export function Confirm({ open, onClose, title, children, action, run }: {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  action: string;
  run: () => Promise<unknown>;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const close = (): void => {
    setError(undefined);
    onClose();
  };
  const confirm = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await run();
      onClose();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog open={open} onClose={close} title={title}>
      <div>{children}</div>
      {error !== undefined && (
        <div className="notice bad" role="alert">
          {explain(error)}
        </div>
      )}
      <div className="dialog-actions">
        <button type="button" className="button" onClick={close} autoFocus>
          Cancel
        </button>
        <button type="button" className="button danger" disabled={busy} onClick={() => void confirm()}>
          {action}
        </button>
      </div>
    </Dialog>
  );
}
