// Chat: the conversations at the left, one of them (or the beginning of a new one) at the right.
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { Suspense } from "react";
import { Icon } from "../ui/icon.tsx";
import { SessionList } from "./session-list.tsx";

export function ChatLayout() {
  const inSession = useRouterState({ select: (state) => state.location.pathname.startsWith("/sessions/") });
  return (
    <div className="chat" data-open={inSession}>
      <aside className="chat-list" aria-label="Conversations">
        <div className="chat-list-head">
          <h2>Conversations</h2>
          <Link to="/" className="button quiet icon small" aria-label="New conversation" title="New conversation">
            <Icon name="plus" />
          </Link>
        </div>
        <div className="chat-list-body">
          <SessionList />
        </div>
      </aside>
      <section className="chat-main" aria-label="Conversation">
        <Suspense fallback={null}>
          <Outlet />
        </Suspense>
      </section>
    </div>
  );
}
