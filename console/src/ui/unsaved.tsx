// What was typed and not saved is not lost by a wrong click: leaving asks first.
import { useBlocker } from "@tanstack/react-router";
import { useCallback, useRef, type ReactNode } from "react";
import { Dialog } from "./dialog.tsx";

/** `guard` is to be rendered; it asks before the address or the page is left while something is unsaved. `settle` ends that for good, once it is saved or given up. */
export function useUnsaved(unsaved: boolean): { guard: ReactNode; settle: () => void } {
  const over = useRef(false);
  const state = useRef(unsaved);
  state.current = unsaved && !over.current;
  const blocker = useBlocker({
    shouldBlockFn: () => state.current,
    enableBeforeUnload: () => state.current,
    disabled: !unsaved,
    withResolver: true,
  });
  const settle = useCallback(() => {
    over.current = true;
    state.current = false;
  }, []);
  const stay = (): void => blocker.reset?.();
  return {
    settle,
    guard: (
      <Dialog open={blocker.status === "blocked"} onClose={stay} title="Leave without saving?">
        <p>What you wrote here is not saved.</p>
        <div className="dialog-actions">
          <button type="button" className="button" onClick={stay} autoFocus>
            Stay here
          </button>
          <button type="button" className="button danger" onClick={() => blocker.proceed?.()}>
            Leave it
          </button>
        </div>
      </Dialog>
    ),
  };
}
