// Code with its colours and a button that copies it.
import { useMemo, type ReactNode } from "react";
import { CopyButton } from "./copy.tsx";
import { Later, useLater } from "./loaded.ts";

const highlighter = new Later(() => import("./highlight.ts"));

/** `plain` is shown instead of the bare text while nobody knows the language. */
export function Code({ code, language, plain }: { code: string; language: string; plain?: ReactNode }) {
  const loaded = useLater(highlighter, language !== "");
  const coloured = useMemo(() => loaded?.highlight(code, language), [loaded, code, language]);
  return (
    <div className="code">
      <pre tabIndex={0} aria-label={language === "" ? "Code" : `Code in ${language}`}>
        {coloured ? <code>{coloured}</code> : (plain ?? <code>{code}</code>)}
      </pre>
      <CopyButton text={() => code} label="Copy the code" className="button quiet icon small" />
    </div>
  );
}
