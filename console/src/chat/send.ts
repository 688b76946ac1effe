// Sending: files first, then the message that names them.
import { sendMessage, upload, type ContentPart } from "../api/operations.ts";
import type { Draft } from "./composer.tsx";
import type { SessionStore } from "./store.ts";

export async function sendDraft(sessionId: string, draft: Draft, store?: SessionStore): Promise<void> {
  store?.addPending({ key: draft.key, text: draft.text, files: draft.files.map(({ name, size }) => ({ name, size })) });
  try {
    const content: ContentPart[] = [{ type: "text", text: draft.text }];
    for (const file of draft.files) content.push({ type: "attachment", id: (await upload(sessionId, file)).attachment.id });
    await sendMessage(sessionId, content, draft.key);
  } catch (error) {
    store?.dropPending(draft.key);
    throw error;
  }
}
