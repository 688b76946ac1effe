import { defineConfig } from "vitest/config";

// What is run by hand and is no test: numbers and pictures.
export default defineConfig({ test: { include: ["browser/*.bench.ts", "browser/*.shots.ts"], hookTimeout: 600_000, maxWorkers: 1 } });
