// What a tool was given and what it gave back.
import type { ToolCallEvent, ToolResultEvent } from "../api/types.ts";
import { Data } from "../ui/data.tsx";

export function CallData({ call, result }: { call: ToolCallEvent; result: ToolResultEvent | undefined }) {
  return (
    <>
      <Data label={`Input of ${call.name}`} value={call.input} />
      {result?.error ? (
        <section className="data-block" aria-label="Error">
          <div className="data-head">
            <span>Error</span>
          </div>
          <span className="data-text problem">{result.error}</span>
        </section>
      ) : result ? (
        <Data label="Result" value={result.output} />
      ) : (
        <p className="muted small">No result yet.</p>
      )}
    </>
  );
}
