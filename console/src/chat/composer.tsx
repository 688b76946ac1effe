// Where messages are written. What was typed is never lost: it stays over a reload, and comes back when sending fails.
import { useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { newKey } from "../api/client.ts";
import { bytes } from "../ui/format.ts";
import { Icon } from "../ui/icon.tsx";
import { explain } from "../ui/state.tsx";

export interface Draft {
  text: string;
  files: readonly File[];
  /** Names this message, so that sending it again after a failure cannot double it. */
  key: string;
}

const draftName = (id: string): string => `loam.draft.${id}`;

function readDraft(id: string): string {
  try {
    return sessionStorage.getItem(draftName(id)) ?? "";
  } catch {
    return "";
  }
}

function keepDraft(id: string, text: string): void {
  try {
    if (text === "") sessionStorage.removeItem(draftName(id));
    else sessionStorage.setItem(draftName(id), text);
  } catch {
    // Storage may be blocked: the text is on screen all the same.
  }
}

/** The server's limits on a message (wire protocol). */
const maxFiles = 16;
const maxBytes = 64 * 1024;

export function Composer({ id, send, placeholder, busy = false, tools, children }: {
  /** Names the draft. */
  id: string;
  send: (draft: Draft) => Promise<void>;
  placeholder: string;
  busy?: boolean;
  /** Stands beside the button that attaches files. */
  tools?: ReactNode;
  /** Stands at the left of the send button. */
  children?: ReactNode;
}) {
  const [text, setText] = useState(() => readDraft(id));
  const [files, setFiles] = useState<readonly File[]>([]);
  const [failure, setFailure] = useState<{ error: unknown; text: string; key: string }>();
  const [over, setOver] = useState(false);
  /** Somebody wanted to send files alone. */
  const [wordless, setWordless] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);

  useLayoutEffect(() => {
    const box = area.current;
    if (!box) return;
    box.style.height = "0";
    box.style.height = `${Math.min(box.scrollHeight, 280)}px`;
  }, [text]);
  useEffect(() => keepDraft(id, text), [id, text]);

  const tooLong = text.length > maxBytes / 4 && new TextEncoder().encode(text).length > maxBytes;
  const ready = text.trim() !== "" && !tooLong && !busy;
  const onlyFiles = files.length > 0 && text.trim() === "";
  const add = (list: Iterable<File>): void => setFiles((before) => [...before, ...list].slice(0, maxFiles));

  const submit = async (): Promise<void> => {
    setWordless(onlyFiles);
    if (!ready) return;
    const draft = { text: text.trim(), files, key: failure?.text === text.trim() ? failure.key : newKey() };
    setText("");
    setFiles([]);
    setFailure(undefined);
    area.current?.focus();
    try {
      await send(draft);
    } catch (error) {
      setText((current) => (current.trim() === "" ? draft.text : `${draft.text}\n\n${current}`));
      setFiles((current) => [...draft.files, ...current]);
      setFailure({ error, text: draft.text, key: draft.key });
    }
  };

  return (
    <form
      className="composer"
      data-over={over}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        setOver(false);
        if (event.dataTransfer.files.length === 0) return;
        event.preventDefault();
        add(event.dataTransfer.files);
      }}
    >
      {failure && (
        <div className="composer-problem" role="alert">
          <Icon name="error" /> Not sent: {explain(failure.error)} Your text is still here.
        </div>
      )}
      {tooLong && (
        <div className="composer-problem" role="alert">
          <Icon name="error" /> A message has at most 64 KiB. Attach the text as a file instead.
        </div>
      )}
      {wordless && onlyFiles && (
        <div className="composer-problem" role="alert">
          <Icon name="error" /> Write a word about {files.length === 1 ? "the file" : "the files"}: a message needs some text.
        </div>
      )}
      {files.length > 0 && (
        <ul className="plain files">
          {files.map((file, i) => (
            <li key={`${file.name}-${i}`} className="chip">
              <Icon name="file" size={12} /> {file.name} <span>{bytes(file.size)}</span>
              <button type="button" aria-label={`Remove ${file.name}`} onClick={() => setFiles(files.filter((other) => other !== file))}>
                <Icon name="close" size={12} />
              </button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={area}
        data-composer
        aria-label="Message"
        rows={1}
        value={text}
        placeholder={placeholder}
        onChange={(event) => setText(event.target.value)}
        onPaste={(event) => {
          if (event.clipboardData.files.length === 0) return;
          event.preventDefault();
          add(event.clipboardData.files);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault();
            void submit();
          }
        }}
      />
      <div className="composer-bar">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={(event) => {
            add(event.target.files ?? []);
            event.target.value = "";
          }}
        />
        <button type="button" className="button quiet icon" aria-label="Attach files" title="Attach files" onClick={() => picker.current?.click()}>
          <Icon name="attach" />
        </button>
        {tools}
        {children}
        <button type="submit" className="button primary icon send" aria-label="Send" title="Send (Enter)" disabled={!ready && !(onlyFiles && !busy)}>
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}
