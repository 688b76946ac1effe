// Text of people and agents. It is untrusted: no raw HTML, no remote images, and links open elsewhere without a referrer.
import { memo, useRef, useState, type ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import { Icon } from "./icon.tsx";
import { splitMarkdown } from "./markdown-blocks.ts";

function Code({ children }: { children?: ReactNode }) {
  const ref = useRef<HTMLPreElement>(null);
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(ref.current?.textContent ?? "");
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <div className="code">
      <pre ref={ref} tabIndex={0} aria-label="Code">
        {children}
      </pre>
      <button type="button" className="button quiet icon small" aria-label={copied ? "Copied" : "Copy the code"} onClick={() => void copy()}>
        <Icon name={copied ? "check" : "copy"} size={14} />
      </button>
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
