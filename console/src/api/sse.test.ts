import { describe, expect, it } from "vitest";
import { EventParser, type StreamMessage } from "./sse.ts";

const parse = (...chunks: string[]): StreamMessage[] => {
  const messages: StreamMessage[] = [];
  const parser = new EventParser((message) => messages.push(message));
  for (const chunk of chunks) parser.push(chunk);
  return messages;
};

describe("EventParser", () => {
  const text = 'id: 7\nevent: event\ndata: {"seq":7}\n\n: beat\n\nevent: partial\ndata: a\ndata: b\n\n';
  const want = [
    { event: "event", id: "7", data: '{"seq":7}' },
    { event: "partial", id: "7", data: "a\nb" },
  ];

  it("reads messages and skips comments", () => expect(parse(text)).toEqual(want));

  it("does not care where chunks are cut", () => {
    for (let size = 1; size < 9; size++) {
      const chunks = text.match(new RegExp(`[\\s\\S]{1,${size}}`, "g")) ?? [];
      expect(parse(...chunks)).toEqual(want);
    }
  });

  it("takes every kind of line end, also one that is cut in two", () => {
    expect(parse("data: x\r", "\n\r\ndata: y\r\r")).toHaveLength(1);
    expect(parse("data: x\r", "\n\r\ndata: y\r\r", "data: z\n\n").map((message) => message.data)).toEqual(["x", "y", "z"]);
  });

  it("says nothing of a message that has no data or no end", () => expect(parse("event: ping\n\ndata: unfinished\n")).toEqual([]));
});
