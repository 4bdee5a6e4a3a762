// Markdown that is still being written, made fit to look at: what has been opened is closed, and a last line that could
// yet become anything (a list, a heading, a fence) is held back. Only the end of the text is changed, and only for show.

const FENCE = /^\s*(`{3,}|~{3,})/;
const ONLY_A_MARK = /^\s*(?:[-+*_=>#~`]+|\d{1,9}[.)]|[-+*]\s+\[[ xX]?\]?)\s*$/;
const SLANTED = /(?:^|[\s("'“])([*_])(?=[^\s*_])[^*_]*$/; // the last mark opens, and nothing closes it
const OPEN_FORMULA = /^ {0,3}(?:\$\$(?![\s\S]*\$\$)|\\\[(?![\s\S]*\\\]))[\s\S]*$/m; // the last one is not closed
const HALF_A_LINK = /!?\[([^[\]\n]*)\]\([^)\n]*$/;

/** Return the text as it should be read now. */
export function mend(text) {
  const fence = openFence(text);
  if (fence) return withoutHalfAFence(text, fence);
  const formula = OPEN_FORMULA.exec(text);
  if (formula) return `${text}${formula[0].startsWith("$") ? "\n$$" : "\n\\]"}`;
  const cut = text.lastIndexOf("\n") + 1;
  const gap = text.lastIndexOf("\n\n");
  const block = gap < 0 ? 0 : gap + 2;
  const table = mendTable(text.slice(block));
  if (table !== null) return text.slice(0, block) + table;
  const line = text.slice(cut);
  return text.slice(0, cut) + (ONLY_A_MARK.test(line) ? "" : mendLine(line));
}

function openFence(text) {
  /** @type {string | null} */
  let open = null;
  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1];
    if (!mark) continue;
    if (!open) open = mark;
    else if (mark[0] === open[0] && mark.length >= open.length && line.trim() === mark) open = null;
  }
  return open;
}

function withoutHalfAFence(text, fence) {
  const cut = text.lastIndexOf("\n") + 1;
  const line = text.slice(cut).trim();
  const isHalf = cut > 0 && line.length < fence.length && line === fence[0].repeat(line.length);
  return isHalf ? text.slice(0, cut) : text;
}

/** Return a block that ends in the first lines of a table with its second line complete; null if it does not. */
function mendTable(block) {
  const lines = block.split("\n");
  const first = lines.findIndex((line) => /^\s*\|/.test(line));
  const [header, ruler = "", ...rows] = lines.slice(Math.max(first, 0));
  if (first < 0 || rows.length > 0 || !/^[\s|:-]*$/.test(ruler)) return null;
  const cells = header
    .trim()
    .replace(/^\||\|$/g, "")
    .split(/(?<!\\)\|/);
  if (!cells.some((cell) => cell.trim())) return lines.slice(0, first).join("\n");
  return [...lines.slice(0, first), header, `|${" --- |".repeat(cells.length)}`].join("\n");
}

function mendLine(line) {
  const read = line.replace(HALF_A_LINK, "$1");
  const outside = read.replace(/(`+)[^`]*\1/g, "");
  if (outside.includes("`")) return close(read, "`");
  for (const mark of ["**", "~~"]) {
    if (!outside.includes(mark + mark[0]) && outside.split(mark).length % 2 === 0) return close(read, mark);
  }
  const opened = SLANTED.exec(outside.replaceAll("**", ""))?.[1];
  return opened ? close(read, opened) : read;
}

/** Close what a mark opened; a mark that nothing follows yet, or half of one, is left out. */
function close(line, mark) {
  let text = line.trimEnd();
  if (text.endsWith(mark)) return text.slice(0, -mark.length);
  if (mark.length > 1 && text.endsWith(mark[0])) text = text.slice(0, -1).trimEnd();
  return text.endsWith(mark) ? text.slice(0, -mark.length) : text + mark;
}
