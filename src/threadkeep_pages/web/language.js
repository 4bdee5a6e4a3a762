// The language of the page. Every text stands in a catalogue in `texts/`: English comes along, another one is a file that is
// loaded before anything is drawn. Numbers, dates and plurals are those of the reader's region.

import english from "./texts/en.js";
import { EVERYBODY, keep, kept } from "./shelf.js";

/**
 * The languages that there are, by their own names: every file of `texts/` is one, and the server tells which it has.
 * @type {Record<string, string>}
 */
export const LANGUAGES = JSON.parse(globalThis.document?.documentElement.dataset.languages ?? '{ "en": "English" }');
const HOLES = /\{(\w+)\}/;

const baseOf = (tag) => tag.toLowerCase().split("-")[0];
const wished = () => [...(globalThis.navigator?.languages ?? [])];

// What this browser was told, or else the first of its languages that there is a catalogue of.
export function chosenLanguage() {
  const name = kept("language", "", EVERYBODY);
  return Object.hasOwn(LANGUAGES, name) ? name : "";
}

const present = { language: "en", locale: "en", texts: /** @type {Record<string, any>} */ (english) };

export async function loadLanguage() {
  const name =
    chosenLanguage() ||
    (wished()
      .map(baseOf)
      .find((one) => Object.hasOwn(LANGUAGES, one)) ??
      "en");
  const found = name === "en" ? english : (await import(`./texts/${name}.js`).catch(() => null))?.default;
  if (!found) return; // without a network, and never used before: in English
  present.language = name;
  present.locale = wished().find((tag) => baseOf(tag) === name) ?? name;
  present.texts = found;
  document.documentElement.lang = name;
  document.documentElement.dir = found.direction ?? "ltr";
}

// Nothing is lost by loading the page anew, and no text stays behind in the language before.
export function chooseLanguage(name) {
  keep("language", name, EVERYBODY);
  location.reload();
}

/**
 * The parts of a text: words, and the values that stand between them. The form of a text with a count `n` is the one that
 * the language has for that number.
 * @param {TextKey} key
 * @param {Record<string, any>} values
 */
function parts(key, values) {
  const found = present.texts[key] ?? english[key];
  const text = typeof found === "string" ? found : (found[pluralOf(values.n)] ?? found.other);
  return text.split(HOLES).map((part, at) => (at % 2 ? shown(values[part]) : part));
}

const pluralOf = (n) => new Intl.PluralRules(present.locale).select(n);
const shown = (value) => (typeof value === "number" ? number(value) : value);

/**
 * @param {TextKey} key
 * @param {Record<string, string | number>} [values]
 */
export const t = (key, values = {}) => parts(key, values).join("");

/**
 * The same where elements stand among the words.
 * @param {TextKey} key
 * @param {Record<string, any>} values
 */
export const rich = (key, values) => parts(key, values);

/**
 * What an assistant that comes along says about itself, in the language of the page; another one speaks as it was written.
 * @param {string} text
 */
export function introduction(text) {
  const found = Object.entries(english).find(([key, own]) => /^(?:about|example)_/.test(key) && own === text);
  return found ? t(/** @type {TextKey} */ (found[0])) : text;
}

// Problems that somebody at the page can do the same about as about another one.
const SAME_AS = {
  invalid_id: "invalid_value",
  invalid_period: "invalid_value",
  invalid_request: "invalid_value",
  invalid_text: "invalid_value",
  hold_on_nobody: "not_found",
  key_not_found: "not_found",
  share_not_found: "not_found",
  body_too_large: "content_too_large",
  too_many_values: "content_too_large",
  unsafe_archive: "invalid_import",
  request_timeout: "upload_mismatch",
  too_many_connections: "rate_limited",
  out_of_memory: "rate_limited",
  pause_unsupported: "model_error",
  script_timeout: "model_timeout",
  index_unusable: "retrieval_failed",
  wrong_embeddings: "retrieval_failed",
  embedding_failed: "retrieval_failed",
  package_missing: "retrieval_failed",
  store_corrupt: "store_error",
  store_denied: "store_error",
  store_not_migrated: "store_error",
  store_too_new: "store_error",
  store_too_old: "store_error",
  spool_full: "store_unavailable",
};

const EXACT = /^(?:invalid_(?!request)|illegal_|unknown_format|import_|too_|storage_full|budget_)/;

/**
 * What became of a request, by the stable code of the server; its own words are English.
 * @param {{ code?: string, detail?: string }} problem
 */
export function problemText({ code = "", detail = "" }) {
  const own = `problem_${code}`;
  const key = /** @type {TextKey} */ (Object.hasOwn(english, own) ? own : `problem_${SAME_AS[code]}`);
  // People are told what they can do. Where what they gave is wrong, or a limit is reached, the server says more exactly which.
  if (present.language === "en" && detail && EXACT.test(code)) return detail;
  return Object.hasOwn(english, key) ? t(key) : detail;
}

/**
 * @param {number} value
 * @param {Intl.NumberFormatOptions} [how]
 */
export const number = (value, how) => numberFormat(how).format(value);
export const numberFormat = (how) => new Intl.NumberFormat(present.locale, how);

/**
 * @param {Date} value
 * @param {Intl.DateTimeFormatOptions} how
 */
export const date = (value, how) => new Intl.DateTimeFormat(present.locale, how).format(value);

// "Today", "Yesterday".
export function day(offset) {
  const text = new Intl.RelativeTimeFormat(present.locale, { numeric: "auto" }).format(offset, "day");
  return text[0].toLocaleUpperCase(present.locale) + text.slice(1);
}

/** @param {string} one @param {string} other */
export const inOrder = (one, other) => one.localeCompare(other, present.locale, { numeric: true, sensitivity: "base" });
