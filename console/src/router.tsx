// The map of the page. Every part but the frame and the chat is loaded when it is first needed.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Link, Outlet, redirect } from "@tanstack/react-router";
import { prefetchSession } from "./api/operations.ts";
import { Shell } from "./frame/shell.tsx";
import { SignInPage } from "./frame/sign-in-page.tsx";
import { ChatLayout } from "./chat/layout.tsx";
import { Empty, Failed } from "./ui/state.tsx";

function NotFound() {
  return (
    <Empty whole icon="search" title="There is nothing here" action={<Link to="/" className="button">To the conversations</Link>}>
      The address is not one of this page.
    </Empty>
  );
}

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
/** Search parameters by name, without those that are not there. */
const only = <K extends string>(search: Record<string, unknown>, ...names: K[]): Partial<Record<K, string>> =>
  Object.fromEntries(names.flatMap((name) => (text(search[name]) === undefined ? [] : [[name, text(search[name])]]))) as Partial<Record<K, string>>;

const root = createRootRoute({ component: Outlet });
const signIn = createRoute({ getParentRoute: () => root, path: "/sign-in", component: SignInPage });
const app = createRoute({ getParentRoute: () => root, id: "app", component: Shell });

const chat = createRoute({ getParentRoute: () => app, id: "chat", component: ChatLayout });
const newChat = createRoute({
  getParentRoute: () => chat,
  path: "/",
  validateSearch: (search) => only(search, "agent"),
  component: lazyRouteComponent(() => import("./chat/new-page.tsx"), "NewPage"),
});
const session = createRoute({
  getParentRoute: () => chat,
  path: "/sessions/$sessionId",
  validateSearch: (search) => only(search, "call", "run"),
  loader: ({ params }) => prefetchSession(params.sessionId),
  // What stands beside the conversation changes nothing of it.
  shouldReload: false,
  component: lazyRouteComponent(() => import("./chat/session-page.tsx"), "SessionPage"),
});
const sessions = createRoute({
  getParentRoute: () => app,
  path: "/sessions",
  beforeLoad: () => {
    throw redirect({ to: "/" });
  },
});

const agents = createRoute({
  getParentRoute: () => app,
  path: "/agents",
  component: lazyRouteComponent(() => import("./agents/list-page.tsx"), "AgentsPage"),
});
const newAgent = createRoute({
  getParentRoute: () => app,
  path: "/agents/new",
  component: lazyRouteComponent(() => import("./agents/new-page.tsx"), "NewAgentPage"),
});
const agent = createRoute({
  getParentRoute: () => app,
  path: "/agents/$agentId",
  component: lazyRouteComponent(() => import("./agents/agent-page.tsx"), "AgentPage"),
});
const agentTabs = [
  createRoute({ getParentRoute: () => agent, path: "/", component: lazyRouteComponent(() => import("./agents/agent-page.tsx"), "BuildTab") }),
  createRoute({
    getParentRoute: () => agent,
    path: "/tools",
    validateSearch: (search) => only(search, "tool", "make"),
    component: lazyRouteComponent(() => import("./tools/tools-tab.tsx"), "ToolsTab"),
  }),
  createRoute({
    getParentRoute: () => agent,
    path: "/memory",
    validateSearch: (search) => only(search, "file"),
    component: lazyRouteComponent(() => import("./memory/memory-tab.tsx"), "MemoryTab"),
  }),
  createRoute({
    getParentRoute: () => agent,
    path: "/triggers",
    validateSearch: (search) => only(search, "trigger", "make"),
    component: lazyRouteComponent(() => import("./triggers/triggers-tab.tsx"), "TriggersTab"),
  }),
  createRoute({ getParentRoute: () => agent, path: "/sharing", component: lazyRouteComponent(() => import("./agents/sharing-tab.tsx"), "SharingTab") }),
  createRoute({ getParentRoute: () => agent, path: "/runs", component: lazyRouteComponent(() => import("./agents/agent-page.tsx"), "AgentRunsTab") }),
  createRoute({
    getParentRoute: () => agent,
    path: "/sessions",
    component: lazyRouteComponent(() => import("./agents/agent-page.tsx"), "AgentSessionsTab"),
  }),
] as const;

const runs = createRoute({
  getParentRoute: () => app,
  path: "/runs",
  validateSearch: (search) => only(search, "agentId", "status"),
  component: lazyRouteComponent(() => import("./runs/list-page.tsx"), "RunsPage"),
});
const run = createRoute({
  getParentRoute: () => app,
  path: "/runs/$runId",
  component: lazyRouteComponent(() => import("./runs/run-page.tsx"), "RunPage"),
});

const approvals = createRoute({
  getParentRoute: () => app,
  path: "/approvals",
  validateSearch: (search) => only(search, "show"),
  component: lazyRouteComponent(() => import("./approvals/page.tsx"), "ApprovalsPage"),
});

const settings = createRoute({
  getParentRoute: () => app,
  path: "/settings",
  component: lazyRouteComponent(() => import("./settings/layout.tsx"), "SettingsLayout"),
});
const settingsIndex = createRoute({
  getParentRoute: () => settings,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/settings/providers" });
  },
});
const settingsTabs = [
  createRoute({ getParentRoute: () => settings, path: "/providers", component: lazyRouteComponent(() => import("./settings/providers.tsx"), "ProvidersPage") }),
  createRoute({ getParentRoute: () => settings, path: "/mcp-servers", component: lazyRouteComponent(() => import("./settings/mcp-servers.tsx"), "McpServersPage") }),
  createRoute({ getParentRoute: () => settings, path: "/secrets", component: lazyRouteComponent(() => import("./settings/secrets.tsx"), "SecretsPage") }),
  createRoute({ getParentRoute: () => settings, path: "/tokens", component: lazyRouteComponent(() => import("./settings/tokens.tsx"), "TokensPage") }),
  createRoute({ getParentRoute: () => settings, path: "/keys", component: lazyRouteComponent(() => import("./settings/keys.tsx"), "KeysPage") }),
  createRoute({ getParentRoute: () => settings, path: "/signers", component: lazyRouteComponent(() => import("./settings/signers.tsx"), "SignersPage") }),
  createRoute({ getParentRoute: () => settings, path: "/sign-ins", component: lazyRouteComponent(() => import("./settings/sign-ins.tsx"), "SignInsPage") }),
  createRoute({ getParentRoute: () => settings, path: "/passkeys", component: lazyRouteComponent(() => import("./settings/passkeys.tsx"), "PasskeysPage") }),
  createRoute({ getParentRoute: () => settings, path: "/appearance", component: lazyRouteComponent(() => import("./settings/appearance.tsx"), "AppearancePage") }),
  createRoute({ getParentRoute: () => settings, path: "/about", component: lazyRouteComponent(() => import("./settings/about.tsx"), "AboutPage") }),
] as const;

/** Inside the frame, so that one finds the way back. */
const nowhere = createRoute({ getParentRoute: () => app, path: "$", component: NotFound });

const tree = root.addChildren([
  signIn,
  app.addChildren([
    chat.addChildren([newChat, session]),
    sessions,
    agents,
    newAgent,
    agent.addChildren(agentTabs),
    runs,
    run,
    approvals,
    settings.addChildren([settingsIndex, ...settingsTabs]),
    nowhere,
  ]),
]);

export const router = createRouter({
  routeTree: tree,
  defaultPreload: "intent",
  defaultNotFoundComponent: NotFound,
  defaultErrorComponent: ({ error }) => <Failed what="This part of the page broke" error={error} retry={() => location.reload()} />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
