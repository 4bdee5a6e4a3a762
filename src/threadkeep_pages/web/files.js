// Files on their way to the server. The bytes of what somebody attached are kept in this browser until its message is sent, so
// that closing the tab loses nothing. They are sent in pieces: one that broke off goes on where it was, and the server gives
// the same file the same id, however often it comes.

import { Problem, Unreachable, answer, del, newKey } from "./api.js";
import { t } from "./language.js";
import { signal } from "./preact.js";
import { filesIn, sizeOf } from "./render/files.js";
import { ROOT } from "./router.js";
import { FILE_CACHE, me } from "./session.js";
import { drop, everything, keep, kept } from "./shelf.js";

const PIECE = 1024 * 1024;
const MOST = 20; // files in a message

/** @type {Map<string, Blob>} where the browser keeps nothing, this tab does */
const held = new Map();
/** @type {Map<string, { done: Promise<FilePart>, stop: AbortController }>} */
const running = new Map();
/** @type {Signal<Record<string, number>>} */
export const progress = signal({}); // by key: which share has been sent

export const canAttach = () => Number.isInteger(me.value?.max_file_bytes);

/**
 * What somebody attached, as the page keeps it; each says what is wrong with it, if something is.
 * @param {File[]} files
 * @param {Attached[]} before what is attached already
 * @returns {{ all: Attached[], added: Attached[], bytes: Promise<unknown> }}
 */
export function taken(files, before) {
  const added = files.map((file) => ({ key: newKey(), name: file.name, media_type: file.type, size: file.size }));
  const bytes = Promise.all(files.map((file, at) => hold(added[at].key, file)));
  return { all: checked([...before, ...added]), added, bytes };
}

/**
 * The same list with what is wrong with each file, by the limits that the server told.
 * @param {Attached[]} list
 * @returns {Attached[]}
 */
export function checked(list) {
  const { max_file_bytes: file, max_attached_bytes: message } = me.value ?? {};
  let sum = 0;
  return list.map((one, at) => {
    sum += one.size;
    const problem = !one.size
      ? t("fileEmpty")
      : file && one.size > file
        ? t("fileTooLarge", { most: sizeOf(file) })
        : message && sum > message
          ? t("filesTooLarge", { most: sizeOf(message) })
          : at >= MOST
            ? t("tooManyFiles", { n: MOST })
            : undefined;
    if (problem) sum -= one.size;
    return { ...one, problem: problem ?? one.refusal };
  });
}

/**
 * Parts of a message that is stored, as if they had just been attached.
 * @param {Record<string, any>[] | undefined} parts
 * @returns {Attached[]}
 */
export const attachedFrom = (parts) =>
  filesIn(parts).map((part) => ({ ...part, key: newKey(), size: part.size ?? 1, part }));

// Bytes

const placeOf = (key) => `${ROOT}/attached/${key}`;
// Without https there is none: then the bytes live in this tab alone.
const cache = async () => ("caches" in window ? caches.open(FILE_CACHE).catch(() => null) : null);

async function hold(key, blob) {
  held.set(key, blob);
  await (await cache())?.put(placeOf(key), new Response(blob)).catch(() => {}); // no room
}

/** @param {string} key */
export async function bytesOf(key) {
  const blob = held.get(key) ?? (await (await (await cache())?.match(placeOf(key)))?.blob());
  if (blob) held.set(key, blob);
  return blob ?? null;
}

/** @param {Attached[] | undefined} list */
export async function forget(list) {
  for (const { key } of list ?? []) {
    running.get(key)?.stop.abort();
    held.delete(key);
    const path = kept(`upload.${key}`, "");
    if (path) del(path).catch(() => {}); // or the server forgets it after a day
    drop(`upload.${key}`);
    await (await cache())?.delete(placeOf(key));
  }
}

// Removes bytes that nothing in this browser refers to, such as of a tab that was killed in the middle.
export async function sweep() {
  const all = await cache();
  const known = everything();
  for (const { url } of (await all?.keys()) ?? []) {
    if (!known.includes(url.slice(url.lastIndexOf("/") + 1))) await all?.delete(url);
  }
}

// Sending

/**
 * The file on the server; sends it if it is not there yet. Whoever asks meanwhile waits for the same.
 * @param {Attached} one
 * @returns {Promise<FilePart>}
 */
export function uploaded(one) {
  if (one.part) return Promise.resolve(one.part);
  const known = running.get(one.key);
  if (known) return known.done;
  const stop = new AbortController();
  const done = send(one, stop.signal)
    .catch((error) => {
      // It went on elsewhere, or is gone: the next try asks how far it has come.
      throw error.code?.startsWith("upload_") ? new Unreachable(error.message) : error;
    })
    .finally(() => {
      running.delete(one.key);
      const { [one.key]: _, ...others } = progress.value;
      progress.value = others;
    });
  running.set(one.key, { done, stop });
  return done;
}

/**
 * @param {Attached} one
 * @param {AbortSignal} stop
 * @returns {Promise<FilePart>}
 */
async function send({ key, name, media_type }, stop) {
  const blob = await bytesOf(key);
  if (!blob) throw new Problem(404, { code: "file_lost", detail: t("fileLost", { name }) }, 0);
  await readable(blob);
  let { path, offset } = await begun(key, stop);
  for (;;) {
    progress.value = { ...progress.value, [key]: offset / blob.size };
    const end = Math.min(offset + PIECE, blob.size);
    const headers = {
      "Content-Type": media_type || "application/octet-stream",
      "Upload-Complete": end === blob.size ? "?1" : "?0",
      "Upload-Offset": String(offset),
    };
    const [method, to] = path ? ["PATCH", path] : ["POST", `/v1/files?name=${encodeURIComponent(name)}`];
    const told = await answer(method, to, { file: blob.slice(offset, end), headers, signal: stop });
    if (end === blob.size) return finished(key, told);
    if (!path) {
      path = `/v1/uploads/${(await told.json()).id}`;
      keep(`upload.${key}`, path);
    }
    offset = end;
  }
}

// A folder that was dropped, and a file that is gone from its disk, cannot be read; a request would only seem to fail.
async function readable(blob) {
  try {
    await blob.slice(0, 1).arrayBuffer();
  } catch {
    throw new Problem(404, { code: "file_unreadable", detail: t("fileUnreadable") }, 0);
  }
}

// Where an upload that broke off goes on; one that nobody knows any more begins anew.
async function begun(key, stop) {
  const path = kept(`upload.${key}`, "");
  try {
    if (path)
      return { path, offset: Number((await answer("HEAD", path, { signal: stop })).headers.get("Upload-Offset")) };
  } catch (error) {
    if (error.status !== 404) throw error;
    drop(`upload.${key}`);
  }
  return { path: "", offset: 0 };
}

/** @returns {Promise<FilePart>} */
async function finished(key, told) {
  const { id, type, name, media_type, size } = await told.json();
  drop(`upload.${key}`);
  return { type, file: id, name, media_type, size };
}
