// Talking to the server: the client's requests, in the words of this page, and whether the server wants a key.

import { Http } from "./client/http.js";
import { signal } from "./preact.js";
import { ROOT } from "./router.js";
import { problemText, t } from "./language.js";

export { Problem, Unreachable, conversationPath, newKey } from "./client/http.js";

const PATIENCE_WITH_FILES = 600_000;

// True when the server wants a key that we do not have: the page shows the sign-in view then.
export const needsKey = signal(false);

export const http = new Http(ROOT, {
  onProblem: (problem) => {
    if (problem.status === 401) needsKey.value = true;
    const { status, body } = problem;
    problem.message = problemText(body) || body.title || t("serverAnswered", { status });
  },
  say: (what) => (what === "brokeOff" ? t("brokeOff") : t("unreachable")),
});

/** @typedef {import("./client/http.js").Options} Options */

/**
 * @param {string} method
 * @param {string} path
 * @param {Options} [options]
 */
export const answer = (method, path, options) =>
  http.answer(method, path, options?.file ? { patience: PATIENCE_WITH_FILES, ...options } : options);

/**
 * @param {string} method
 * @param {string} path
 * @param {Options} [options]
 */
export const call = (method, path, options) => http.call(method, path, options);

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
