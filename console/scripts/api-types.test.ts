import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { declarations } from "./api-types.ts";

const root = join(import.meta.dirname, "..", "..");

// `npm run generate` is this test with leave to write.
it("src/api/schema.gen.ts is what the server's OpenAPI document says", async () => {
  const document = JSON.parse(readFileSync(join(root, "internal/transport/rest/testdata/openapi.json"), "utf8"));
  await expect(declarations(document)).toMatchFileSnapshot("../src/api/schema.gen.ts");
});

it("refuses a schema that it does not understand", () => {
  expect(() => declarations({ components: { schemas: { Odd: { type: "tuple" } } } })).toThrow("tuple");
});
