// A trigger as somebody fills it in.
import type { TriggerFields } from "../api/types.ts";

export interface Draft {
  name: string;
  prompt: string;
  source: "interval" | "weekly" | "once" | "cron" | "webhook" | "run-completed";
  every: string;
  unit: "minutes" | "hours" | "days";
  days: readonly number[];
  time: string;
  at: string;
  cron: string;
  timezone: string;
  signed: boolean;
  status: string;
  then: "thread" | "tool" | "wake" | "webhook";
  tool: string;
  signal: string;
  url: string;
}

export const emptyDraft = (timezone: string): Draft => ({
  name: "", prompt: "", source: "weekly", every: "1", unit: "hours", days: [1, 2, 3, 4, 5], time: "07:00", at: "", cron: "0 7 * * 1-5", timezone, signed: true, status: "",
  then: "thread", tool: "", signal: "", url: "",
});

type Problems = Partial<Record<keyof Draft, string>>;

/** What is sent, or what is missing by field. The server checks the rest. */
export function readDraft(draft: Draft): { fields?: TriggerFields; problems: Problems } {
  const problems: Problems = {};
  const need = (field: keyof Draft, words: string): string => {
    const value = String(draft[field]).trim();
    if (value === "") problems[field] = words;
    return value;
  };
  const name = need("name", "Give the trigger a name.");
  const continuation = continuationOf(draft, need);
  if (draft.then === "thread") need("prompt", "Say what the agent is to do.");
  const source = sourceOf(draft, problems);
  if (Object.keys(problems).length > 0) return { problems };
  const prompt = draft.prompt.trim();
  return { problems, fields: { name, source, ...(prompt === "" ? {} : { prompt }), ...(continuation === undefined ? {} : { continuation }) } };
}

function continuationOf(draft: Draft, need: (field: keyof Draft, words: string) => string): TriggerFields["continuation"] | undefined {
  switch (draft.then) {
    case "thread":
      return undefined;
    case "tool":
      return { kind: "tool", tool: need("tool", "Name the tool.") };
    case "wake":
      return { kind: "wake", signal: need("signal", "Name the signal.") };
    case "webhook":
      return { kind: "webhook", url: need("url", "Say where it is sent.") };
  }
}

function sourceOf(draft: Draft, problems: Problems): TriggerFields["source"] {
  const { timezone } = draft;
  switch (draft.source) {
    case "interval": {
      const every = Number(draft.every);
      if (!Number.isInteger(every) || every < 1) problems.every = "A whole number of at least 1.";
      return { type: "schedule", schedule: { kind: "interval", every, unit: draft.unit } };
    }
    case "weekly":
      if (draft.days.length === 0) problems.days = "Choose a day.";
      if (!/^\d\d:\d\d$/.test(draft.time)) problems.time = "Choose a time.";
      return { type: "schedule", schedule: { kind: "weekly", daysOfWeek: [...draft.days].sort(), timeOfDay: draft.time, timezone } };
    case "once": {
      const runAt = new Date(draft.at).getTime();
      if (!Number.isFinite(runAt)) problems.at = "Choose a moment.";
      return { type: "schedule", schedule: { kind: "once", runAt } };
    }
    case "cron":
      if (draft.cron.trim() === "") problems.cron = "Five fields, or @daily.";
      return { type: "schedule", schedule: { kind: "cron", cron: draft.cron.trim(), timezone } };
    case "webhook":
      return { type: "webhook", ...(draft.signed ? { signed: true } : {}) };
    case "run-completed":
      return { type: "run-completed", ...(draft.status === "" ? {} : { status: draft.status }) };
  }
}
