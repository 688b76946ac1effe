// The icons: 24-unit outlines drawn for 16 px. They are decoration; what they mean is said in words beside them.

const shapes = {
  agent: "M12 3v3M6 8h12a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2H6a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2zM9 13v1.5M15 13v1.5",
  arrowDown: "M12 5v14M6 13l6 6 6-6",
  arrowUp: "M12 19V5M6 11l6-6 6 6",
  attach: "M20 11.5l-8.2 8.2a5 5 0 0 1-7.1-7.1l8.5-8.5a3.3 3.3 0 0 1 4.7 4.7l-8.5 8.5a1.7 1.7 0 0 1-2.4-2.4l7.8-7.8",
  chat: "M20 4H4a1 1 0 0 0-1 1v11a1 1 0 0 0 1 1h3v4l5-4h8a1 1 0 0 0 1-1V5a1 1 0 0 0-1-1z",
  check: "M5 12.5l4.5 4.5L19 7.5",
  chevron: "M9 6l6 6-6 6",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3.5 2",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h10a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H9a1 1 0 0 1-1-1V10a1 1 0 0 1 1-1zM5 15H4V4a1 1 0 0 1 1-1h10v1",
  download: "M12 4v11M7 11l5 5 5-5M4 20h16",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  error: "M12 3l10 18H2zM12 10v5M12 18v.1",
  file: "M6 3h8l5 5v13H6zM14 3v5h5",
  folder: "M3 6a1 1 0 0 1 1-1h5l2 3h9a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1z",
  key: "M7.5 20.5a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM10.5 13.5L20 4M16 8l3 3",
  list: "M8 6h13M8 12h13M8 18h13M3.5 6h.1M3.5 12h.1M3.5 18h.1",
  lock: "M6 11h12v10H6zM8.5 11V7.5a3.5 3.5 0 0 1 7 0V11",
  menu: "M4 6h16M4 12h16M4 18h16",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
  move: "M4 12h14M13 6l6 6-6 6",
  more: "M5 12h.1M12 12h.1M19 12h.1",
  plan: "M4 6l1.5 1.5L8 5M4 13l1.5 1.5L8 12M12 6.5h8M12 13.5h8M12 20h8M5 20h1",
  plus: "M12 5v14M5 12h14",
  retry: "M4 12a8 8 0 1 1 2.5 5.8M4 19v-5h5",
  runs: "M4 6h9M8 12h12M4 18h7",
  search: "M16.5 16.5L21 21M10.5 18a7.5 7.5 0 1 1 0-15 7.5 7.5 0 0 1 0 15z",
  send: "M12 19V5M6 11l6-6 6 6",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M16 4.5v5M8 14.5v5",
  stop: "M7 7h10v10H7z",
  sun: "M12 16.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M19 5l-1.4 1.4M6.4 17.6L5 19",
  system: "M3 5h18v11H3zM9 20h6M12 16v4",
  tool: "M12 2.8l8 4.6v9.2l-8 4.6-8-4.6V7.4zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z",
  trash: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5",
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5a7.5 7.5 0 0 1 15 0",
  wrench: "M14.5 6.5a4.5 4.5 0 0 1 5.6-3.2l-2.7 2.7 .6 2 2 .6 2.7-2.7a4.5 4.5 0 0 1-6 5.5L8 20.2a2.2 2.2 0 0 1-3.2-3.2l8.8-8.7a4.5 4.5 0 0 1 .9-1.8z",
  write: "M4 20h16M6 16l1-4L16 3l3 3-9 9z",
} as const;

export type IconName = keyof typeof shapes;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={size > 20 ? 1.4 : 1.9}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={shapes[name]} />
    </svg>
  );
}
