// Attaching files to a message that is being written. They are sent at once, so that they are there when the message is; what
// cannot be sent now goes with the message.

import { Unreachable } from "./api.js";
import { attachedTo, keepAttached } from "./drafts.js";
import { checked, forget, taken, uploaded } from "./files.js";

const PAUSE = 3000;

/**
 * @param {string | null} conversation
 * @param {File[]} files
 */
export async function attach(conversation, files) {
  const { all, bytes } = taken(files, attachedTo(conversation));
  keepAttached(conversation, all);
  await bytes;
  uploadAll(conversation);
}

/**
 * @param {string | null} conversation
 * @param {Attached} one
 */
export function detach(conversation, one) {
  const others = attachedTo(conversation).filter(({ key }) => key !== one.key);
  keepAttached(conversation, checked(others));
  forget([one]);
  uploadAll(conversation); // there may be room for another now
}

/** @param {string | null} conversation */
export function uploadAll(conversation) {
  for (const one of attachedTo(conversation)) if (!one.part && !one.problem) upload(conversation, one);
}

async function upload(conversation, one) {
  const change = (fields) =>
    keepAttached(
      conversation,
      attachedTo(conversation).map((other) => (other.key === one.key ? { ...other, ...fields } : other)),
    );
  const isThere = () => attachedTo(conversation).some(({ key }) => key === one.key);
  try {
    const part = await uploaded(one);
    if (isThere()) change({ part });
  } catch (error) {
    if (error.name === "AbortError" || error.status === 401 || !isThere()) return;
    const isPassing = error instanceof Unreachable || (error.isPassing && error.code !== "storage_full");
    if (isPassing) setTimeout(() => isThere() && upload(conversation, one), PAUSE);
    else change({ refusal: error.message, problem: error.message });
  }
}
