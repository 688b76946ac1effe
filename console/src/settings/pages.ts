// The pages of the settings, in the order of their list.
import type { IconName } from "../ui/icon.tsx";

export const settingsPages = [
  { id: "providers", to: "/settings/providers", label: "Providers", icon: "system" },
  { id: "mcp-servers", to: "/settings/mcp-servers", label: "MCP servers", icon: "system" },
  { id: "secrets", to: "/settings/secrets", label: "Secrets", icon: "lock" },
  { id: "tokens", to: "/settings/tokens", label: "API tokens", icon: "key" },
  { id: "keys", to: "/settings/keys", label: "Linked keys", icon: "key" },
  { id: "signers", to: "/settings/signers", label: "Signers", icon: "key" },
  { id: "sign-ins", to: "/settings/sign-ins", label: "Sign-ins", icon: "user" },
  { id: "passkeys", to: "/settings/passkeys", label: "Passkeys", icon: "key" },
  { id: "appearance", to: "/settings/appearance", label: "Appearance", icon: "sun" },
  { id: "about", to: "/settings/about", label: "About", icon: "settings" },
] as const satisfies readonly { id: string; to: string; label: string; icon: IconName }[];
