import { useQuery } from "@tanstack/react-query";
import { queries } from "../api/operations.ts";
import type { Model, Usage } from "../api/types.ts";

/** The price of a usage in dollars, when the model's price is known. */
export function cost(usage: Usage, price: Model["price"]): number | undefined {
  if (!price) return undefined;
  const millionths =
    usage.input * price.input + usage.output * price.output + usage.cacheRead * price.cacheRead + usage.cacheWrite * price.cacheWrite;
  return millionths / 1_000_000;
}

/** The list price of a model, once its provider has told what it offers. */
export function usePrice(provider: string | undefined, model: string | undefined): Model["price"] {
  const models = useQuery({ ...queries.models(provider ?? ""), enabled: provider !== undefined });
  return models.data?.find((candidate) => candidate.id === model)?.price;
}
