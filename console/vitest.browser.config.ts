import { defineConfig } from "vitest/config";

// The tests that drive the real server with Chromium. One browser and one server a file; two files at a time.
export default defineConfig({
  test: {
    include: ["browser/**/*.test.ts"],
    environment: "node",
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    reporters: ["verbose"],
  },
});
