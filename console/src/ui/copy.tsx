// Copying a text. The browser's clipboard needs https or localhost; elsewhere the older way through a selection does.
import { useState } from "react";
import { Icon } from "./icon.tsx";

async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    // Inside an open dialog, because nothing outside of it takes the focus.
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function CopyButton({ text, label, className = "button", words = false }: {
  /** Asked when the button is pressed. */
  text: () => string;
  label: string;
  className?: string;
  /** Shows the label beside the icon. */
  words?: boolean;
}) {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    setCopied(await toClipboard(text()));
    setTimeout(() => setCopied(false), 1_500);
  };
  const shown = copied ? "Copied" : label;
  return (
    <button type="button" className={className} aria-label={words ? undefined : shown} onClick={() => void copy()}>
      <Icon name={copied ? "check" : "copy"} size={14} /> {words && shown}
    </button>
  );
}
