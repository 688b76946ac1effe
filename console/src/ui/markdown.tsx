// Text of people and agents. It is untrusted: no raw HTML, no remote images, and links open elsewhere without a referrer.
import { Children, isValidElement, memo, useMemo, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { Code } from "./code.tsx";
import { Later, useLater } from "./loaded.ts";
import { splitMarkdown } from "./markdown-blocks.ts";
import { mathDelimiters, mayHoldMath } from "./math-delimiters.ts";

const math = new Later(() => import("./math.ts"));

/** The text of code and the language that it names. */
function source(children: ReactNode): { code: string; language: string } {
  const code = Children.toArray(children).find((child) => isValidElement<{ className?: string; children?: ReactNode }>(child));
  if (!isValidElement<{ className?: string; children?: ReactNode }>(code)) return { code: "", language: "" };
  return { code: Children.toArray(code.props.children).join(""), language: languageOf(code.props.className) };
}

const languageOf = (className: string | undefined): string => /(?:^| )language-(\S+)/.exec(className ?? "")?.[1]?.toLowerCase() ?? "";

/** A formula, or what was written when it is none. */
function Formula({ tex, display }: { tex: string; display: boolean }) {
  const ml = useMemo(() => math.module?.mathML(tex, display), [tex, display]);
  if (ml === undefined) return display ? <pre tabIndex={0} aria-label="Formula">{tex}</pre> : <code>{tex}</code>;
  if (!display) return <span className="formula" dangerouslySetInnerHTML={{ __html: ml }} />;
  return <div className="formula display" tabIndex={0} role="group" aria-label="Formula" dangerouslySetInnerHTML={{ __html: ml }} />;
}

const components: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  ),
  img: ({ src, alt }) => (
    <a href={typeof src === "string" ? src : undefined} target="_blank" rel="noopener noreferrer">
      {alt || "image"}
    </a>
  ),
  pre: ({ children }) => {
    const { code, language } = source(children);
    return language === "math" && math.module ? <Formula tex={code} display /> : <Code code={code} language={language} plain={children} />;
  },
  code: ({ className, children }) =>
    languageOf(className) === "math" && math.module ? <Formula tex={String(children)} display={false} /> : <code className={className}>{children}</code>,
  table: ({ children }) => (
    <div className="table-wrap" tabIndex={0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
};

const Piece = memo(function Piece({ text }: { text: string }) {
  const formulas = useLater(math, mayHoldMath(text));
  return (
    <ReactMarkdown remarkPlugins={formulas ? [remarkGfm, ...formulas.mathPlugins] : [remarkGfm]} rehypePlugins={[rehypeSanitize]} components={components}>
      {formulas ? mathDelimiters(text) : text}
    </ReactMarkdown>
  );
});

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="prose">
      {splitMarkdown(text).map((piece, i) => (
        <Piece key={i} text={piece} />
      ))}
    </div>
  );
});
