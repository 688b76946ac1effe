import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { licences } from "./scripts/licences.ts";

// LOAM_URL is the server that `npm run dev` talks to.
const server = process.env.LOAM_URL ?? "http://localhost:3050";

export default defineConfig({
  plugins: [react(), licences()],
  build: {
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": { target: server, changeOrigin: true, ws: true }, "/openapi.json": server } },
});
