// Talking to the server: one function for every call, problems as errors, keys that make a repeated request harmless.

import { signal } from "./preact.js";
import { ROOT } from "./router.js";
import { problemText, t } from "./language.js";

const PATIENCE = 20_000;
const PATIENCE_WITH_FILES = 600_000;

// True when the server wants a key that we do not have: the page shows the sign-in view then.
export const needsKey = signal(false);

// The server answered, and said no. `code` is stable; see docs/reference/http-api.md.
export class Problem extends Error {
  /**
   * @param {number} status
   * @param {{ detail?: string, title?: string, code?: string, head?: number | null }} body
   * @param {number} retryAfter seconds
   */
  constructor(status, body, retryAfter) {
    super(problemText(body) || body.title || t("serverAnswered", { status }));
    this.status = status;
    this.code = body.code ?? "";
    this.head = body.head;
    this.retryAfter = retryAfter;
  }

  // Whether the same request may succeed later without anybody doing anything about it.
  get isPassing() {
    return this.status >= 500 || this.status === 429;
  }
}

// No answer came: the network or the server is away.
export class Unreachable extends Error {}

// A new idempotency key. `crypto.randomUUID` exists only over https and on localhost.
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param {Response} response */
export async function problemOf(response) {
  const seconds = Number(response.headers.get("Retry-After"));
  const body = await response.json().catch(() => ({}));
  if (response.status === 401) needsKey.value = true;
  return new Problem(response.status, body, Number.isFinite(seconds) ? seconds : 0);
}

/**
 * @typedef {{ body?: object, file?: Blob, headers?: Record<string, string>, key?: string, prefer?: string, version?: number, signal?: AbortSignal }} Options
 * @param {string} method
 * @param {string} path
 * @param {Options} [options]
 */
async function request(method, path, { body, file, headers: more, key, prefer, version, signal: ending } = {}) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json", ...more };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  if (prefer) headers.Prefer = prefer;
  if (version !== undefined) headers["If-Match"] = `"${version}"`;
  const patience = AbortSignal.timeout(file ? PATIENCE_WITH_FILES : PATIENCE);
  try {
    return await fetch(ROOT + path, {
      method,
      headers,
      body: body === undefined ? file : JSON.stringify(body),
      signal: ending ? AbortSignal.any([ending, patience]) : patience,
    });
  } catch (error) {
    if (ending?.aborted) throw error;
    throw new Unreachable(t("unreachable"));
  }
}

/**
 * @param {string} method
 * @param {string} path
 * @param {Options} [options]
 */
export async function answer(method, path, options) {
  const response = await request(method, path, options);
  if (!response.ok) throw await problemOf(response);
  return response;
}

/**
 * @param {string} method
 * @param {string} path
 * @param {Options} [options]
 */
export async function call(method, path, options) {
  const response = await answer(method, path, options);
  if (response.status === 204) return null;
  try {
    return await response.json();
  } catch {
    throw new Unreachable(t("brokeOff"));
  }
}

/** @type {(path: string, options?: Options) => Promise<any>} */
export const get = (path, options) => call("GET", path, options);
/** @type {(path: string, body?: object, options?: Options) => Promise<any>} */
export const post = (path, body, options) => call("POST", path, { body, ...options });
/** @type {(path: string, body: object, options?: Options) => Promise<any>} */
export const patch = (path, body, options) => call("PATCH", path, { body, ...options });
export const put = (path, body) => call("PUT", path, { body });
export const del = (path) => call("DELETE", path);

/** @param {string} path */
export async function getText(path) {
  return (await answer("GET", path)).text();
}

/**
 * @param {string} id
 * @param {string} [rest]
 * @param {Record<string, string | number | null | undefined>} [query]
 */
export function conversationPath(id, rest = "", query = {}) {
  const asked = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(asked.map(([name, value]) => [name, String(value)])).toString();
  return `/v1/conversations/${encodeURIComponent(id)}${rest}${text ? `?${text}` : ""}`;
}
