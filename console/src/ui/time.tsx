import { useEffect, useState } from "react";
import { ago, moment } from "./format.ts";

/** The current time, renewed every `period` ms while `active`. */
export function useNow(period: number, active = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!active) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), period);
    return () => clearInterval(timer);
  }, [period, active]);
  return now;
}

/** How long ago something was; the exact moment on hover. */
export function Ago({ at }: { at: number }) {
  const now = useNow(30_000);
  return (
    <time dateTime={new Date(at).toISOString()} title={moment(at)}>
      {ago(at, now)}
    </time>
  );
}
