// Attaching files to a message that is being written. They are sent at once, so that they are there when the message is; what
// cannot be sent now goes with the message.

import { Unreachable, del } from "./api.js";
import { attachedTo, keepAttached } from "./drafts.js";
import { checked, forget, taken, uploaded } from "./files.js";
import { t } from "./language.js";
import { announce } from "./notices.js";
import { nameOf } from "./render/files.js";

const PAUSE = 3000;

/**
 * @param {string | null} conversation
 * @param {File[]} files
 */
export async function attach(conversation, files) {
  const { all, added, bytes } = taken(files, attachedTo(conversation));
  keepAttached(conversation, all);
  await bytes;
  uploadAll(conversation, added);
}

/**
 * @param {string | null} conversation
 * @param {Attached} one
 */
export function detach(conversation, one) {
  const others = attachedTo(conversation).filter(({ key }) => key !== one.key);
  keepAttached(conversation, checked(others));
  forget([one]);
  if (one.part) del(`/v1/files/${one.part.file}`).catch(() => {}); // unless a message uses it
  uploadAll(conversation); // there may be room for another now
}

/**
 * Sends what was refused once more.
 * @param {string | null} conversation
 * @param {Attached} one
 */
export function retry(conversation, one) {
  change(conversation, one, refusedWith(undefined, false));
  uploadAll(conversation);
}

/**
 * @param {string | null} conversation
 * @param {Attached[]} [added] what has just been attached, of which something is told even if it is not sent
 */
export async function uploadAll(conversation, added = []) {
  const begun = attachedTo(conversation).filter((one) => !one.part && !one.problem);
  await Promise.all(begun.map((one) => upload(conversation, one)));
  tell(conversation, [...added, ...begun]);
}

function change(conversation, one, fields) {
  const changed = attachedTo(conversation).map((other) => (other.key === one.key ? { ...other, ...fields } : other));
  keepAttached(conversation, changed);
}

const refusedWith = (message, mayPass) => ({ refusal: message, problem: message, mayPass });

async function upload(conversation, one) {
  const isThere = () => attachedTo(conversation).some(({ key }) => key === one.key);
  while (isThere()) {
    try {
      const part = await uploaded(one);
      return isThere() && change(conversation, one, { part });
    } catch (error) {
      if (error.name === "AbortError" || error.status === 401 || !isThere()) return undefined;
      const isPassing = error instanceof Unreachable || error.isPassing;
      const isFull = error.code === "storage_full"; // until somebody has deleted something
      if (!isPassing || isFull) return change(conversation, one, refusedWith(error.message, isFull));
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }
}

// What became of files, for whoever does not see it.
function tell(conversation, files) {
  const keys = new Set(files.map(({ key }) => key));
  const now = attachedTo(conversation).filter(({ key }) => keys.has(key));
  const names = now.filter(({ part }) => part).map(nameOf);
  const wrong = now.filter(({ problem }) => problem).map((one) => `${nameOf(one)}: ${one.problem}`);
  const told = names.length ? [t("toldUploaded", { names: names.join(", ") }), ...wrong] : wrong;
  if (told.length) announce(told.join(" "));
}
