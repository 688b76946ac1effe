// Text of people and agents. It is untrusted: no raw HTML, no remote images, and links open elsewhere without a referrer.
import { memo, useRef, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { CopyButton } from "./copy.tsx";
import { splitMarkdown } from "./markdown-blocks.ts";

function Code({ children }: { children?: ReactNode }) {
  const ref = useRef<HTMLPreElement>(null);
  return (
    <div className="code">
      <pre ref={ref} tabIndex={0} aria-label="Code">
        {children}
      </pre>
      <CopyButton text={() => ref.current?.textContent ?? ""} label="Copy the code" className="button quiet icon small" />
    </div>
  );
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
  pre: ({ children }) => <Code>{children}</Code>,
  table: ({ children }) => (
    <div className="table-wrap" tabIndex={0} role="group" aria-label="Table">
      <table>{children}</table>
    </div>
  ),
};

const Piece = memo(function Piece({ text }: { text: string }) {
  return (
    <ReactMarkdown remarkPlugins={[remarkGfm]} rehypePlugins={[rehypeSanitize]} components={components}>
      {text}
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
