// What a tool call did, in words. The name of the tool and its input stay visible when the line is opened.
import type { IconName } from "../ui/icon.tsx";
import type { RunActivity, ToolCallEvent } from "../api/types.ts";
import type { Call } from "./rows.ts";

export interface Wording {
  icon: IconName;
  /** Such as "Read". */
  verb: string;
  /** Such as an address, shown as code; may be empty. */
  object: string;
}

const field = (input: unknown, name: string): string => {
  const value = typeof input === "object" && input !== null ? (input as Record<string, unknown>)[name] : undefined;
  return typeof value === "string" ? value : "";
};

export function wording(call: ToolCallEvent): Wording {
  const { name, input } = call;
  switch (name) {
    case "read":
      return { icon: "file", verb: "Read", object: field(input, "address") };
    case "write": {
      const options = (input as { options?: { delete?: unknown } } | null)?.options;
      return options?.delete === true
        ? { icon: "trash", verb: "Deleted", object: field(input, "address") }
        : { icon: "write", verb: "Wrote", object: field(input, "address") };
    }
    case "plan":
      return { icon: "plan", verb: "Updated the plan", object: field(input, "title") };
    case "status":
      return { icon: "edit", verb: "Set the title", object: field(input, "title") };
    case "call":
      return { icon: "tool", verb: "Called", object: field(input, "tool") };
    case "delegate":
      return { icon: "runs", verb: "Delegated", object: field(input, "title") };
    default:
      return { icon: "tool", verb: "Used", object: name };
  }
}

/** A group in words: "4 steps: read 3, wrote 1". */
export function summary(calls: readonly Call[]): string {
  const counts = new Map<string, number>();
  for (const call of calls) {
    const verb = wording(call.call).verb.toLowerCase();
    counts.set(verb, (counts.get(verb) ?? 0) + 1);
  }
  const parts = Array.from(counts, ([verb, n]) => `${verb} ${n}`);
  return `${calls.length} steps: ${parts.join(", ")}`;
}

/** What the agent does at this moment. */
export function activityWords(activity: RunActivity | undefined): string {
  switch (activity?.phase) {
    case "starting":
      return "Starting";
    case "thinking":
      return "Thinking";
    case "responding":
      return "Writing";
    case "finalizing":
      return "Finishing";
    case "tool": {
      const doing = { read: "Reading", write: "Writing", plan: "Planning", status: "Naming the conversation" }[activity.toolName ?? ""];
      return [doing ?? `Using ${activity.toolName ?? "a tool"}`, activity.detail].filter(Boolean).join(" ");
    }
    default:
      return "Waiting for the model";
  }
}
