// The checklist of a conversation.
import { useState } from "react";
import type { Plan, PlanStep } from "../api/types.ts";
import { Icon } from "../ui/icon.tsx";

const marks: Record<PlanStep["status"], string> = { pending: "to do", running: "in progress", done: "done", failed: "failed", skipped: "skipped" };

export function PlanCard({ plan }: { plan: Plan }) {
  const [open, setOpen] = useState(false);
  const settled = plan.steps.filter((step) => step.status !== "pending" && step.status !== "running").length;
  const current = plan.steps.find((step) => step.status === "running") ?? plan.steps.find((step) => step.status === "pending");
  if (plan.steps.length === 0) return null;
  return (
    <section className="plan" aria-label="Plan">
      <button type="button" className="plan-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="plan" />
        <strong className="truncate">{plan.title || "Plan"}</strong>
        <span className="muted truncate grow">{current ? current.label : "All steps settled"}</span>
        <span className="muted">
          {settled} of {plan.steps.length}
        </span>
        <progress value={settled} max={plan.steps.length} aria-label="Steps settled" />
        <span className="turn" data-open={open}>
          <Icon name="chevron" size={14} />
        </span>
      </button>
      {open && (
        <ol className="plain plan-steps">
          {plan.steps.map((step) => (
            <li key={step.id} data-status={step.status}>
              <span className="plan-mark" aria-hidden="true">
                {step.status === "done" && <Icon name="check" size={13} />}
                {step.status === "failed" && <Icon name="close" size={13} />}
              </span>
              <span>{step.label}</span>
              <span className="muted small">{marks[step.status]}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
