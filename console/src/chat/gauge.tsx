// How full the model's context is.
import type { SessionEvent } from "../api/types.ts";
import { count } from "../ui/format.ts";

/** Tokens of the newest answer's request and of the answer itself: what the next request begins with. */
export function contextUsed(events: readonly SessionEvent[]): number | undefined {
  for (let i = events.length - 1; i >= 0; i--) {
    const payload = events[i]?.event;
    const usage = payload?.type === "message" && payload.role === "assistant" ? payload.meta?.usage : undefined;
    if (usage) return usage.input + usage.cacheRead + usage.cacheWrite + usage.output;
  }
  return undefined;
}

/** Amber from 70 %, red from 85 %. */
export const level = (share: number): "ok" | "warn" | "bad" => (share >= 0.85 ? "bad" : share >= 0.7 ? "warn" : "ok");

export function Gauge({ used, window }: { used: number | undefined; window: number | undefined }) {
  if (!window || used === undefined) return <span className="gauge" />;
  const share = Math.min(used / window, 1);
  const percent = Math.round(share * 100);
  const note = { ok: "", warn: ", filling up", bad: ", nearly full" }[level(share)];
  return (
    <span
      className={`gauge ${level(share)}`}
      role="img"
      aria-label={`Context ${percent} %${note}`}
      title={`${count(used)} of ${count(window)} tokens of context used${note}`}
    >
      <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
        <circle cx="8" cy="8" r="6" fill="none" stroke="var(--border)" strokeWidth="2.5" />
        <circle
          cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeWidth="2.5" strokeLinecap="round"
          strokeDasharray={`${share * 37.7} 37.7`} transform="rotate(-90 8 8)"
        />
      </svg>
      {percent} %
    </span>
  );
}
