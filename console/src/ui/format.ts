// Figures and times as people read them.

const number = new Intl.NumberFormat("en");
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const dayYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });

export const count = (value: number): string => number.format(value);

/** 950, 1.2k, 34k, 1.2M. */
export function short(value: number): string {
  if (value < 1_000) return String(value);
  const [unit, divisor] = value < 999_500 ? ["k", 1_000] : ["M", 1_000_000];
  const scaled = value / divisor;
  return `${scaled < 9.95 ? scaled.toFixed(1).replace(/\.0$/, "") : Math.round(scaled)}${unit}`;
}

export function bytes(value: number): string {
  if (value < 1_024) return `${value} B`;
  const units = ["KiB", "MiB", "GiB"];
  let scaled = value / 1_024;
  let unit = 0;
  while (scaled >= 1_024 && unit < units.length - 1) {
    scaled /= 1_024;
    unit++;
  }
  return `${scaled < 10 ? scaled.toFixed(1) : Math.round(scaled)} ${units[unit]}`;
}

/** <1 ms, 40 ms, 0.4 s, 12 s, 3:07, 1:02:09. */
export function duration(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 95) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const pad = (value: number): string => String(value).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${pad(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${pad(minutes % 60)}:${pad(seconds % 60)}`;
}

/** The time of something that goes on, in whole seconds, so that it ticks: 0 s, 12 s, 3:07. */
export const ticking = (ms: number): string => {
  const seconds = Math.max(Math.floor(ms / 1_000), 0);
  return seconds < 60 ? `${seconds} s` : duration(seconds * 1_000);
};

/** Money in dollars; small amounts keep two significant figures. */
export function dollars(value: number): string {
  if (value === 0) return "$0";
  if (value < 0.01) return `$${value.toPrecision(2).replace(/0+$/, "")}`;
  return `$${value.toFixed(2)}`;
}

const sameDay = (a: Date, b: Date): boolean => a.toDateString() === b.toDateString();

/** The time of today, otherwise the day. */
export function when(ms: number, now: number = Date.now()): string {
  const at = new Date(ms);
  if (sameDay(at, new Date(now))) return clock.format(at);
  return at.getFullYear() === new Date(now).getFullYear() ? day.format(at) : dayYear.format(at);
}

/** just now, 4 min, 3 h, then the day. */
export function ago(ms: number, now: number = Date.now()): string {
  const minutes = Math.floor((now - ms) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 12 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return when(ms, now);
}

export function dayName(ms: number, now: number = Date.now()): string {
  const at = new Date(ms);
  if (sameDay(at, new Date(now))) return "Today";
  if (sameDay(at, new Date(now - 86_400_000))) return "Yesterday";
  return at.getFullYear() === new Date(now).getFullYear() ? day.format(at) : dayYear.format(at);
}

export const time = (ms: number): string => clock.format(new Date(ms));
export const moment = (ms: number): string => full.format(new Date(ms));

/** "1 file", "3 files". */
export const plural = (value: number, one: string, many = `${one}s`): string => `${count(value)} ${value === 1 ? one : many}`;
