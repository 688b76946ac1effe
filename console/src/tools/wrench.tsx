// The button beside the composer that opens the palette of verbs and tools, which is loaded then.
import { lazy, Suspense, useState, type ReactNode } from "react";
import { Icon } from "../ui/icon.tsx";

const UseDialog = lazy(() => import("./use-dialog.tsx").then((module) => ({ default: module.UseDialog })));

/** The button, and the palette that stands outside of the composer, whose form it would send otherwise. */
export function useWrench(session: { id: string; agentId: string; status: string } | undefined, may: boolean): { button: ReactNode; palette: ReactNode } {
  const [open, setOpen] = useState(false);
  if (!session || !may) return { button: null, palette: null };
  return {
    button: (
      <button type="button" className="button quiet icon" data-wrench aria-label="Use a verb or tool" title="Use a verb or tool yourself (u)" onClick={() => setOpen(true)}>
        <Icon name="wrench" />
      </button>
    ),
    palette: open && (
      <Suspense fallback={null}>
        <UseDialog sessionId={session.id} agentId={session.agentId} busy={session.status === "streaming"} onClose={() => setOpen(false)} />
      </Suspense>
    ),
  };
}
