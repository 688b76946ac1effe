// The windowed transcript. It stays at the end while the reader is there, and where it is when the reader has scrolled up.
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { Icon } from "../ui/icon.tsx";
import { Markdown } from "../ui/markdown.tsx";
import { RowView } from "./row.tsx";
import { RowBuilder, type Row } from "./rows.ts";
import type { SessionState, SessionStore } from "./store.ts";
import { activityWords } from "./words.ts";

/** A guess at a row's height before it is measured. */
function estimate(row: Row | undefined): number {
  switch (row?.kind) {
    case undefined:
      return 40;
    case "day":
      return 44;
    case "message":
      return 64 + Math.ceil(row.message.content.length / 90) * 23;
    case "calls":
      return row.calls.length < 4 ? row.calls.length * 32 : 32;
    case "error":
      return 76;
    case "pending":
      return 80;
  }
}

/** The reader counts as being at the end within this distance of it, in px. */
const nearEnd = 48;

export function Transcript({ store, state, agentName }: { store: SessionStore; state: SessionState; agentName: string }) {
  const scroller = useRef<HTMLDivElement>(null);
  const builder = useMemo(() => new RowBuilder(), [store]);
  const rows = useMemo(() => builder.build(state.events, state.pending), [builder, state.events, state.pending]);
  const streaming = state.session?.status === "streaming";
  const count = rows.length + (streaming ? 1 : 0);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => estimate(rows[index]),
    getItemKey: (index) => rows[index]?.key ?? "live",
    overscan: 6,
    paddingStart: 16,
    paddingEnd: 16,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: nearEnd,
  });
  const { atEnd, unread, onScroll, toEnd } = useEnd(scroller, virtual, state.events.length > 0 ? (state.events.at(-1)?.seq ?? 0) : 0);

  // A conversation opens at its end.
  const opened = useRef(false);
  useLayoutEffect(() => {
    if (opened.current || rows.length === 0) return;
    opened.current = true;
    virtual.scrollToEnd();
  }, [rows.length, virtual]);

  // Who sends wants to see what was sent.
  const sent = state.pending.length;
  useLayoutEffect(() => {
    if (sent > 0) toEnd();
  }, [sent, toEnd]);

  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  useEffect(() => {
    if (opened.current && first < 8 && state.hasMoreBefore) void store.loadBefore();
  }, [first, state.hasMoreBefore, state.events, store]);

  return (
    <div className="transcript-frame">
      <div
        className="transcript"
        ref={scroller}
        onScroll={onScroll}
        tabIndex={0}
        role="log"
        aria-label="Conversation"
        aria-live="off"
        data-at-end={atEnd}
      >
        <div className="transcript-space" style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => {
            const row = rows[item.index];
            return (
              <div
                key={item.key}
                ref={virtual.measureElement}
                data-index={item.index}
                className="transcript-row"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                {row ? <RowView row={row} sessionId={store.sessionId} agentName={agentName} /> : <LiveRow store={store} agentName={agentName} />}
              </div>
            );
          })}
        </div>
      </div>
      {!atEnd && (
        <button type="button" className="pill" onClick={toEnd}>
          <Icon name="arrowDown" size={14} /> {unread ? "New messages" : "To the end"}
        </button>
      )}
    </div>
  );
}

type List = ReturnType<typeof useVirtualizer<HTMLDivElement, Element>>;

/** Whether the reader is at the end, and whether something arrived below meanwhile. */
function useEnd(scroller: React.RefObject<HTMLDivElement | null>, virtual: List, lastSeq: number) {
  const [atEnd, setAtEnd] = useState(true);
  const [seen, setSeen] = useState(lastSeq);
  const onScroll = useCallback(() => {
    const box = scroller.current;
    if (box) setAtEnd(box.scrollHeight - box.scrollTop - box.clientHeight <= nearEnd);
  }, [scroller]);
  useEffect(() => {
    if (atEnd) setSeen(lastSeq);
  }, [atEnd, lastSeq]);
  const toEnd = useCallback(() => {
    virtual.scrollToEnd();
    setAtEnd(true);
  }, [virtual]);
  return { atEnd, unread: lastSeq > seen, onScroll, toEnd };
}

/** The answer that is being made: its text so far, and what happens now. */
function LiveRow({ store, agentName }: { store: SessionStore; agentName: string }) {
  const live = useSyncExternalStore(store.subscribeLive, store.liveSnapshot);
  return (
    <article className="message agent live" aria-label={`${agentName}, now`} aria-busy="true">
      {live.text !== "" && (
        <div className="bubble">
          <Markdown text={(live.cut ? "… " : "") + live.text} />
        </div>
      )}
      <footer className="message-foot">
        <span className="status live truncate">{activityWords(live.activity)}…</span>
      </footer>
    </article>
  );
}
