import { Link, Outlet } from "@tanstack/react-router";
import { Suspense } from "react";
import { SkeletonRows } from "../ui/state.tsx";
import { settingsPages } from "./pages.ts";

export function SettingsLayout() {
  return (
    <div className="page settings">
      <nav className="settings-nav" aria-label="Settings">
        {settingsPages.map((page) => (
          <Link key={page.id} to={page.to} activeProps={{ "aria-current": "page" }} data-item>
            {page.label}
          </Link>
        ))}
      </nav>
      <div className="settings-body">
        <Suspense fallback={<SkeletonRows />}>
          <Outlet />
        </Suspense>
      </div>
    </div>
  );
}
