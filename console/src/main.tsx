import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { onSignedOut } from "./api/client.ts";
import { leaveToSignIn, queryClient } from "./frame/session.ts";
import { router } from "./router.tsx";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/controls.css";
import "./frame/frame.css";
import "./chat/chat.css";
import "./agents/agents.css";
import "./runs/runs.css";
import "./approvals/approvals.css";
import "./settings/settings.css";

onSignedOut(leaveToSignIn);
// A new version of the server has other file names: a page that was open since before loads itself anew.
addEventListener("vite:preloadError", () => location.reload());

const holder = document.getElementById("root");
if (!holder) throw new Error("index.html has no #root");
createRoot(holder).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
