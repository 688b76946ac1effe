// The frame around every page: the rail at the left, the bar at the top, the palette, the list of keys, the messages.
import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Suspense, useEffect, useState, useSyncExternalStore } from "react";
import { queries } from "../api/operations.ts";
import { connection } from "../api/sse.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Toasts } from "../ui/toast.tsx";
import { KeysDialog } from "./keys-dialog.tsx";
import { useShortcuts } from "./keyboard.ts";
import { Palette } from "./palette.tsx";
import { setRailNarrow, setTheme, useRailNarrow, useTheme } from "./preferences.ts";
import { signOutHere } from "./session.ts";
import { useHints } from "./hints.ts";

const places: readonly { to: "/" | "/agents" | "/runs" | "/approvals" | "/settings"; label: string; icon: IconName; also?: string }[] = [
  { to: "/", label: "Chat", icon: "chat", also: "/sessions" },
  { to: "/agents", label: "Agents", icon: "agent" },
  { to: "/runs", label: "Runs", icon: "runs" },
  { to: "/approvals", label: "Approvals", icon: "check" },
  { to: "/settings", label: "Settings", icon: "settings" },
];

/** How many calls wait for this person. */
function Waiting() {
  const list = useInfiniteQuery(queries.approvals({ status: "pending" }));
  const count = list.data?.pages[0]?.approvals.length ?? 0;
  if (count === 0) return null;
  return (
    <>
      <span className="grow" />
      <span className="rail-count">
        {list.hasNextPage ? `${count}+` : count}
        <span className="visually-hidden"> waiting</span>
      </span>
    </>
  );
}

function Rail({ narrow }: { narrow: boolean }) {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const inside = (prefix: string): boolean => path === prefix || path.startsWith(`${prefix}/`);
  return (
    <nav className="rail" aria-label="Main">
      <div className="rail-brand">
        <svg width="24" height="24" viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="8" fill="var(--accent)" />
          <path d="M9 7v15.5h14" fill="none" stroke="var(--on-accent)" strokeWidth="3.4" strokeLinecap="round" strokeLinejoin="round" />
          <path d="M14.5 17c0-4.5 3-7.5 8.5-8 0 5.5-3 8.5-8.5 8z" fill="var(--on-accent)" opacity="0.65" />
        </svg>
        <span className="rail-word">Loam</span>
      </div>
      <ul className="plain">
        {places.map((place) => {
          const current = place.to === "/" ? path === "/" || inside("/sessions") : inside(place.to);
          return (
            <li key={place.to}>
              <Link to={place.to} className="rail-link" aria-current={current ? "page" : undefined} title={narrow ? place.label : undefined}>
                <Icon name={place.icon} size={18} />
                <span className="rail-word">{place.label}</span>
                {place.to === "/approvals" && <Waiting />}
              </Link>
            </li>
          );
        })}
      </ul>
      <button
        type="button"
        className="rail-link rail-fold"
        onClick={() => setRailNarrow(!narrow)}
        aria-label={narrow ? "Unfold the side bar" : "Fold the side bar"}
      >
        <span className={narrow ? "turn" : "turn back"}>
          <Icon name="chevron" size={18} />
        </span>
        <span className="rail-word">Fold</span>
      </button>
    </nav>
  );
}

function ThemeButton() {
  const theme = useTheme();
  const next = { system: "light", light: "dark", dark: "system" } as const;
  const icon = { system: "system", light: "sun", dark: "moon" } as const;
  return (
    <button
      type="button"
      className="button quiet icon"
      aria-label={`Theme: ${theme}. Switch to ${next[theme]}`}
      title={`Theme: ${theme}`}
      onClick={() => setTheme(next[theme])}
    >
      <Icon name={icon[theme]} />
    </button>
  );
}

function AccountMenu() {
  const me = useQuery(queries.me());
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (!open) return;
    const close = (event: Event): void => {
      if (event instanceof KeyboardEvent ? event.key === "Escape" : !(event.target as Element).closest(".menu-holder")) setOpen(false);
    };
    document.addEventListener("pointerdown", close);
    document.addEventListener("keydown", close);
    return () => {
      document.removeEventListener("pointerdown", close);
      document.removeEventListener("keydown", close);
    };
  }, [open]);
  const account = me.data?.account ?? "";
  return (
    <div className="menu-holder">
      <button type="button" className="button quiet icon" aria-label="Account" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="user" />
      </button>
      {open && (
        <div className="menu">
          <div className="menu-head">
            <strong>{me.data?.owner ? "Server owner" : "Signed in"}</strong>
            <span className="mono small muted account-id">{account}</span>
          </div>
          <Link to="/settings/sign-ins" className="menu-entry" onClick={() => setOpen(false)}>
            <Icon name="user" /> Sign-ins and devices
          </Link>
          <button type="button" className="menu-entry" onClick={() => void signOutHere()}>
            <Icon name="lock" /> Sign out
          </button>
        </div>
      )}
    </div>
  );
}

function ConnectionNote() {
  const away = useSyncExternalStore(connection.subscribe, connection.isAway);
  return (
    <span role="status" className="connection">
      {away && <span className="status warn">Reconnecting…</span>}
    </span>
  );
}

const isMac = /Mac|iP(hone|ad)/.test(navigator.userAgent);

export function Shell() {
  const navigate = useNavigate();
  const narrow = useRailNarrow();
  const [palette, setPalette] = useState(false);
  const [keys, setKeys] = useState(false);
  useHints();
  useShortcuts({
    palette: () => setPalette((value) => !value),
    keys: () => setKeys(true),
    rail: () => setRailNarrow(!narrow),
    go: (to) => void navigate({ to }),
  });
  return (
    <div className="shell">
      <a className="skip-link" href="#main">
        Skip to the content
      </a>
      <Rail narrow={narrow} />
      <header className="top">
        <button type="button" className="search-button" onClick={() => setPalette(true)} aria-keyshortcuts="Control+K Meta+K">
          <Icon name="search" size={15} />
          <span className="grow">Search and commands</span>
          <kbd aria-hidden="true">{isMac ? "⌘K" : "Ctrl K"}</kbd>
        </button>
        <ConnectionNote />
        <button type="button" className="button quiet icon keys-button" aria-label="Keyboard shortcuts" title="Keyboard shortcuts" onClick={() => setKeys(true)}>
          <span aria-hidden="true">?</span>
        </button>
        <ThemeButton />
        <AccountMenu />
      </header>
      <main id="main" tabIndex={-1}>
        <Suspense fallback={<div className="page" role="status" aria-label="Loading" />}>
          <Outlet />
        </Suspense>
      </main>
      <Palette open={palette} onClose={() => setPalette(false)} />
      <KeysDialog open={keys} onClose={() => setKeys(false)} />
      <Toasts />
    </div>
  );
}
