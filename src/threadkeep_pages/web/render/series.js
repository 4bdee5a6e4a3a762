// What a chart's block says, made regular: one list of places along the x axis and, for each series, a value or nothing at
// each of them. Points may be [x, y] or {x, y}, values may stand alone; what is no number is left out.

import { partsInWords } from "./pie.js";
import { isRecord, listOf, numberOf, textOf, wordsOf } from "./value.js";
import { t } from "../language.js";

const MOST_SERIES = 6;
const MOST_PLACES = 1500;
const LARGEST = 1e300;
const DATE = /^\d{4}-\d{2}(?:-\d{2}(?:[T ][\d:.]+(?:Z|[-+]\d{2}:?\d{2})?)?)?$/;

/** Return {kind, axis, places: [{label, at}], series: [{name, values}], unit, left: series that there is no room for}. */
export function readChart(block) {
  const all = listOf(block.series).filter(isRecord);
  const labels = listOf(block.labels ?? block.categories ?? block.x).map(textOf);
  const read = all.slice(0, MOST_SERIES).map((one, at) => ({
    name: textOf(one.name ?? one.label) || t("series", { n: at + 1 }),
    points: pointsOf(one, labels),
  }));
  const kind = kindOf(textOf(block.chart), read);
  const axis = kind === "bar" || kind === "pie" ? "names" : axisOf(read);
  const places = thinned(placesOf(read, axis));
  const series = read.map(({ name, points }) => {
    const known = new Map(points.map(([x, y]) => [textOf(x), y]));
    return { name, values: places.map(({ label }) => known.get(label) ?? null) };
  });
  return { kind, axis, places, series, unit: unitOf(block, all), left: all.length - read.length };
}

/** Return the unit that all values have; nothing where they differ. */
function unitOf(block, series) {
  const units = new Set(series.map((one) => wordsOf(one.unit)).filter(Boolean));
  const [unit = wordsOf(block.unit)] = units;
  return units.size > 1 ? "" : unit.trim().slice(0, 24);
}

function kindOf(name, series) {
  if (/pie|donut|doughnut/i.test(name)) return isWhole(series) ? "pie" : "bar";
  if (/bar|column|hist/i.test(name)) return "bar";
  if (/scatter|point|bubble/i.test(name)) return "scatter";
  return /area/i.test(name) ? "area" : "line";
}

/** Whether the values are parts of one whole: a single series, nothing below zero, and more than nothing in all. */
function isWhole(series) {
  const values = series.flatMap(({ points }) => points.map(([, y]) => y));
  return series.length === 1 && values.every((value) => value >= 0) && values.some((value) => value > 0);
}

/** Return the points of one series as [x, y] with a number for y. */
function pointsOf(one, labels) {
  const listed = listOf(one.points ?? one.values ?? one.data);
  const points = listed.map((item, at) => {
    if (Array.isArray(item)) return [item[0], numberOf(item[1])];
    if (isRecord(item))
      return [item.x ?? item.label ?? item.date ?? item.name ?? at + 1, numberOf(item.y ?? item.value)];
    return [labels[at] || at + 1, numberOf(item)];
  });
  return points.filter(([x, y]) => y !== null && Math.abs(y) <= LARGEST && textOf(x) !== "");
}

function axisOf(series) {
  const all = series.flatMap(({ points }) => points.map(([x]) => x));
  if (all.every((x) => typeof x === "number" && Number.isFinite(x))) return "numbers";
  const isDate = (x) => typeof x === "string" && DATE.test(x) && !Number.isNaN(Date.parse(x));
  return all.every(isDate) ? "dates" : "names";
}

function placesOf(series, axis) {
  const labels = [...new Set(series.flatMap(({ points }) => points.map(([x]) => textOf(x))))];
  const place = { names: (_, at) => at, dates: Date.parse, numbers: Number }[axis];
  const places = labels.map((label, at) => ({ label, at: place(label, at) }));
  return axis === "names" ? places : places.sort((one, other) => one.at - other.at);
}

function thinned(places) {
  const step = Math.ceil(places.length / MOST_PLACES);
  return step > 1 ? places.filter((_, at) => at % step === 0) : places;
}

/** @type {Record<string, TextKey>} */
const KINDS = { pie: "chartPie", bar: "chartBar", line: "chartLine", area: "chartArea", scatter: "chartScatter" };

/** Return what a chart with at least one value shows, in a sentence for those who do not see it. */
export function describe(block, chart) {
  const { kind, places, series, unit } = chart;
  const values = series.flatMap((one) => one.values).filter((value) => value !== null);
  const [least, most] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
  const title = wordsOf(block.title);
  const named = title ? t("chartTitled", { chart: t(KINDS[kind]), title }) : t(KINDS[kind]);
  if (kind === "pie") return t("chartParts", { chart: named, parts: partsInWords(chart) });
  const names = series.map(({ name }) => name).join(", ");
  const told = { chart: named, names, least: String(least), most: `${most}${unit && ` ${unit}`}` };
  const [from, to] = [places[0].label, places.at(-1)?.label ?? ""];
  return places.length > 1 ? t("chartSpan", { ...told, from, to }) : t("chartSeries", told);
}
