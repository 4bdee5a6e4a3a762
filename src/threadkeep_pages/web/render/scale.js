// From values to places in a drawing, and the round numbers that stand beside an axis.

import { number } from "../language.js";

/** Return the round steps that cover a range, about `count` of them. */
export function ticks(low, high, count) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5].find((factor) => factor * power >= rough * 0.999) ?? 10);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil((low === high ? low + span : high) / step - 1e-9);
  if (!Number.isFinite(first) || !Number.isFinite(last) || !(step > 0)) return [low, high];
  const found = Array.from({ length: Math.min(last - first, 50) + 1 }, (_, at) => (first + at) * step);
  return found.map((value) => Number(value.toPrecision(12)));
}

/** Return the steps of a y axis. Bars and areas begin at nothing; lines do where that leaves them room. */
export function valueTicks(values, kind, count) {
  let low = values.reduce((least, value) => Math.min(least, value), Infinity);
  let high = values.reduce((most, value) => Math.max(most, value), -Infinity);
  const isGrounded = kind === "bar" || kind === "area";
  if (low > 0 && (isGrounded || low < high * 0.4)) low = 0;
  if (high < 0 && (isGrounded || high > low * 0.4)) high = 0;
  return ticks(low, high, count);
}

/** Return the function that puts values between `low` and `high` between two places. */
export function scale(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

/** @type {Intl.NumberFormatOptions} */
const SHORT = { notation: "compact", maximumFractionDigits: 2 };
/** @type {Intl.NumberFormatOptions} */
const PLAIN = { maximumSignificantDigits: 6 };

/** Return a number for an axis: short, with its unit. */
export function written(value, unit = "") {
  const size = Math.abs(value);
  const isExtreme = size >= 1e15 || (size > 0 && size < 1e-4);
  const shown = isExtreme ? value.toExponential(1) : number(value, size >= 10_000 ? SHORT : PLAIN);
  if (!unit) return shown;
  return /^[$€£¥]$/.test(unit) ? `${unit}${shown}` : unit === "%" ? `${shown}%` : `${shown} ${unit}`;
}
