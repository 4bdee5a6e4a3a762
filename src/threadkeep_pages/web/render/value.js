// Any JSON value as something to read. Blocks and tool results come from models, tools and imported files, so nothing is
// taken for granted here: an odd value is shown as what it is, and nothing throws.

import { numberFormat, t } from "../language.js";

const LONGEST = 100_000;
const DEEPEST = 100; // below that, indenting makes megabytes of a few brackets

/** Whether a value is an object with keys. */
export function isRecord(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Return a list: the value itself if it is one, else an empty one. */
export function listOf(value) {
  return Array.isArray(value) ? value : [];
}

/** Return a text that is there to be shown, else nothing. */
export function wordsOf(value) {
  return typeof value === "string" && value.trim() ? value : "";
}

/** Return a value in one line: words as they are, lists with commas, anything deeper as JSON. */
export function textOf(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value.slice(0, LONGEST);
  if (Array.isArray(value) && value.every((item) => !isRecord(item) && !Array.isArray(item))) {
    return value.map(textOf).join(", ");
  }
  return typeof value === "object" ? jsonOf(value, 0) : String(value);
}

const isDeep = (value, left = DEEPEST) =>
  typeof value === "object" &&
  value !== null &&
  (left === 0 || Object.values(value).some((one) => isDeep(one, left - 1)));

/** Return a value as JSON, indented unless it is nested deeply; one that is nested too deeply for JSON is named. */
export function jsonOf(value, indent = 2) {
  try {
    return JSON.stringify(value, null, isDeep(value) ? 0 : indent) ?? "";
  } catch {
    return t("tooDeep");
  }
}

/** Return a field's name as a heading: `market_cap` is "Market cap". */
export function labelOf(key) {
  const words = String(key)
    .replace(/[_-]+/g, " ")
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .trim();
  return words ? words[0].toUpperCase() + words.slice(1) : String(key);
}

/** Return the number that a value stands for, or null. */
export function numberOf(value) {
  if (typeof value === "string" && !/^\s*[-+]?[\d.,]+(?:e[-+]?\d+)?\s*%?\s*$/i.test(value)) return null;
  if (typeof value !== "string" && typeof value !== "number") return null;
  const number = typeof value === "number" ? value : Number(value.replace(/[,%\s]/g, ""));
  return Number.isFinite(number) ? number : null;
}

const COUNTS_NOTHING = /(?:^|[\s_-])(?:id|no|nr|year|code|zip|key|number|phone|company)$/i;

/**
 * Return how the numbers of one column are written: the same decimals all the way down, large ones grouped, very
 * large ones short (3.4T).
 */
export function columnFormat(name, values) {
  const numbers = values.filter((value) => typeof value === "number" && Number.isFinite(value));
  const decimals = Math.min(Math.max(0, ...numbers.slice(0, 1000).map(decimalsOf)), 4);
  const isLarge = !COUNTS_NOTHING.test(String(name)) && numbers.some((number) => Math.abs(number) >= 10_000);
  const isHuge = isLarge && numbers.some((number) => Math.abs(number) >= 1e9);
  const format = numberFormat(
    isHuge
      ? { notation: "compact", maximumFractionDigits: 2 }
      : { minimumFractionDigits: decimals, maximumFractionDigits: decimals, useGrouping: isLarge },
  );
  return (value) => (typeof value === "number" && Number.isFinite(value) ? format.format(value) : textOf(value));
}

function decimalsOf(number) {
  return (String(number).split("e")[0].split(".")[1] ?? "").length;
}
