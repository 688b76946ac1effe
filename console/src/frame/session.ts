// Who is signed in, and what happens when nobody is.
import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "../api/client.ts";
import { signOut } from "../api/operations.ts";

/** Attempts again what the server could not answer; what it refused stays refused. */
const retry = (failures: number, error: unknown): boolean =>
  error instanceof ApiError && (error.status === 0 || error.status >= 500) && failures < 2;

export const queryClient = new QueryClient({
  defaultOptions: { queries: { retry, staleTime: 10_000, refetchOnWindowFocus: true }, mutations: { retry: false } },
});

/** The page to come back to after signing in: only paths of this page. */
export function returnPath(path: string): string {
  return path.startsWith("/") && !path.startsWith("//") && !path.startsWith("/sign-in") ? path : "/";
}

/** Leaves for the sign-in page with a full load, so that nothing of the account stays in memory. */
export function leaveToSignIn(): void {
  if (location.pathname === "/sign-in") return;
  const back = returnPath(location.pathname + location.search);
  location.assign(back === "/" ? "/sign-in" : `/sign-in?back=${encodeURIComponent(back)}`);
}

export async function signOutHere(): Promise<void> {
  await signOut();
  location.assign("/sign-in");
}
