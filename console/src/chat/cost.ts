import type { Model, Usage } from "../api/types.ts";

/** The price of a usage in dollars, when the model's price is known. */
export function cost(usage: Usage, price: Model["price"]): number | undefined {
  if (!price) return undefined;
  const millionths =
    usage.input * price.input + usage.output * price.output + usage.cacheRead * price.cacheRead + usage.cacheWrite * price.cacheWrite;
  return millionths / 1_000_000;
}
