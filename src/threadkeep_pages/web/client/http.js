// Requests to a server: problems as errors, keys that make a repeated request harmless.

const PATIENCE = 20_000;

/** @typedef {import("./api.js").components["schemas"]["Problem"]} ProblemBody */

/** The server answered, and said no. `code` is stable; docs/reference/http-api.md lists them. */
export class Problem extends Error {
  /**
   * @param {number} status
   * @param {Partial<ProblemBody>} body
   * @param {number} [retryAfter] seconds
   */
  constructor(status, body, retryAfter = 0) {
    super(body.detail || body.title || `The server answered ${status}.`);
    this.status = status;
    this.body = body;
    this.code = body.code ?? "";
    this.head = body.head;
    this.retryAfter = retryAfter;
  }

  /** Whether the same request may succeed later without anybody doing anything about it. */
  get isPassing() {
    return this.status >= 500 || this.status === 429;
  }
}

/** No answer came: the network or the server is away. */
export class Unreachable extends Error {}

/** A new idempotency key. `crypto.randomUUID` exists only over https and on localhost. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * @param {string} id
 * @param {string} [rest]
 * @param {Record<string, string | number | boolean | null | undefined>} [query]
 */
export function conversationPath(id, rest = "", query = {}) {
  return withQuery(`/v1/conversations/${encodeURIComponent(id)}${rest}`, query);
}

/**
 * @param {string} path
 * @param {Record<string, string | number | boolean | null | undefined>} query
 */
export function withQuery(path, query) {
  const asked = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(asked.map(([name, value]) => [name, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}

/**
 * Does work again that did no harm, until it succeeds, is refused, or patience ends.
 * @template Result
 * @param {() => Promise<Result>} work
 * @param {number} [patience] milliseconds
 * @returns {Promise<Result>}
 */
export async function repeated(work, patience = 30_000) {
  const until = Date.now() + patience;
  for (let wait = 250; ; wait = Math.min(2 * wait, 8000)) {
    try {
      return await work();
    } catch (error) {
      const pause = Math.max(wait * (0.75 + Math.random() / 2), (error.retryAfter ?? 0) * 1000);
      const mayPass =
        error instanceof Unreachable || (error instanceof Problem && error.isPassing && error.status !== 502);
      if (!mayPass || Date.now() + pause > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/**
 * @typedef {object} Options
 * @property {unknown} [body] is sent as JSON
 * @property {BodyInit} [file] is sent as it is
 * @property {Record<string, string>} [headers]
 * @property {string} [key] the same key and body is done only once
 * @property {string} [prefer]
 * @property {number} [version] the change is meant for this version
 * @property {number} [patience] milliseconds; 0 is for ever
 * @property {AbortSignal | null} [signal]
 */

/**
 * @typedef {object} HttpOptions
 * @property {string | (() => string | Promise<string>)} [token] an API key, or what returns a fresh token
 * @property {Record<string, string>} [headers] of every request
 * @property {typeof globalThis.fetch} [fetch]
 * @property {(problem: Problem) => void} [onProblem] is told of each refusal before anybody else
 * @property {(what: "unreachable" | "brokeOff") => string} [say] the words of what went wrong on the way
 */

const SAID = { unreachable: "The server cannot be reached.", brokeOff: "The answer broke off." };

export class Http {
  /**
   * @param {string} root the address of the server, "" for that of the page
   * @param {HttpOptions} [how]
   */
  constructor(root, { token, headers = {}, fetch, onProblem = () => {}, say = (what) => SAID[what] } = {}) {
    this.root = root.replace(/\/$/, "");
    this.token = token;
    this.headers = headers;
    this.fetch = fetch ?? ((address, init) => globalThis.fetch(address, init));
    this.onProblem = onProblem;
    this.say = say;
  }

  /**
   * The answer to a request, whatever it says.
   * @param {string} method
   * @param {string} path
   * @param {Options} [options]
   */
  async request(method, path, { body, file, headers: more, key, prefer, version, patience = PATIENCE, signal } = {}) {
    /** @type {Record<string, string>} */
    const headers = { Accept: "application/json", ...this.headers, ...more };
    const token = typeof this.token === "function" ? await this.token() : this.token;
    if (token) headers.Authorization = `Bearer ${token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (key) headers["Idempotency-Key"] = key;
    if (prefer) headers.Prefer = prefer;
    if (version !== undefined) headers["If-Match"] = `"${version}"`;
    const endings = [signal, patience ? AbortSignal.timeout(patience) : null].filter((each) => !!each);
    try {
      return await this.fetch(this.root + path, {
        method,
        headers,
        body: body === undefined ? file : JSON.stringify(body),
        signal: endings.length > 1 ? AbortSignal.any(endings) : endings[0],
        cache: "no-store",
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Unreachable(this.say("unreachable"));
    }
  }

  /**
   * The answer to a request that is granted; else it throws `Problem`.
   * @param {string} method
   * @param {string} path
   * @param {Options} [options]
   */
  async answer(method, path, options) {
    const response = await this.request(method, path, options);
    if (!response.ok) throw await this.problemOf(response);
    return response;
  }

  /** @param {Response} response */
  async problemOf(response) {
    const seconds = Number(response.headers.get("Retry-After"));
    const body = await response.json().catch(() => ({}));
    const problem = new Problem(response.status, body, Number.isFinite(seconds) ? seconds : 0);
    this.onProblem(problem);
    return problem;
  }

  /**
   * The JSON of the answer.
   * @param {string} method
   * @param {string} path
   * @param {Options} [options]
   * @returns {Promise<any>}
   */
  async call(method, path, options) {
    const response = await this.answer(method, path, options);
    if (response.status === 204) return null;
    try {
      return await response.json();
    } catch {
      throw new Unreachable(this.say("brokeOff"));
    }
  }
}
