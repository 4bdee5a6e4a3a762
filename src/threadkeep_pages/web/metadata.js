// Changes what a conversation's metadata holds, beside what others write there at the same time.

import { conversationPath, patch } from "./api.js";

const TRIES = 10;

/**
 * `change` makes the new metadata of the newest; it is asked again whenever somebody was faster (412). `fields` go along.
 * @param {Pick<OpenConversation, "id" | "readPage">} conversation
 * @param {(metadata: Record<string, any>) => Record<string, any>} change
 * @param {Record<string, unknown>} [fields]
 */
export async function changeMetadata(conversation, change, fields = {}) {
  for (let tries = 1; ; tries += 1) {
    const { metadata, version } = await conversation.readPage({ limit: 1 });
    try {
      const body = { ...fields, metadata: change(metadata) };
      return await patch(conversationPath(conversation.id), body, { version });
    } catch (error) {
      if (error.status !== 412 || tries === TRIES) throw error;
    }
  }
}
