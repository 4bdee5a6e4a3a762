// Mathematics in Markdown: where TeX begins and ends, so that no mark inside of it means anything else, and its drawing,
// which is loaded when the first formula asks for it. One that cannot be drawn, or is larger than anybody writes, stays as it
// was written.

import { ROOT, isAlone } from "../router.js";
import { t } from "../language.js";

const HOME = "../vendor/katex-0.19.1";
const BLOCK = /^ {0,3}(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n+|$)/;
const INLINE = [
  { pattern: /^\\\(([\s\S]+?)\\\)/, display: false },
  { pattern: /^\\\[([\s\S]+?)\\\]/, display: true },
  { pattern: /^\$\$([^$]+?)\$\$/, display: true },
  { pattern: /^\$(?![\s$])((?:\\.|[^$\\\n])+?)(?<!\s)\$(?![\d$])/, display: false },
];
const LONGEST = 4_000;
const DEEPEST = 30; // boxes in boxes: a browser lays out what is nested deeper until its stack ends, and the tab with it
const MOST_LEVELS = 500;
const NESTING = /\\(?:begin|left)(?![a-zA-Z])|\\(?:end|right)(?![a-zA-Z])|\\[\s\S]|[{}]/g;
const DEFINITION = /\\(?:[egx]?def|(?:re)?newcommand|providecommand)(?![a-zA-Z])/; // makes a book of a line
const PRICE = /^\d[\d.,]*\s+[\p{L}(]/u; // two prices in one line are no formula

const entity = (mark) => `&#${mark.codePointAt(0)};`;
const drawn = ({ text, display }) =>
  `<code data-math="${display ? "block" : "inline"}">${text.replace(/[<>"'&]/g, entity)}</code>`;

/** What the parser of Markdown has to know. @type {import("marked").TokenizerAndRendererExtension[]} */
export const FORMULAS = [
  {
    name: "formulaBlock",
    level: "block",
    start: (source) => /^ {0,3}(?:\$\$|\\\[)/m.exec(source)?.index,
    tokenizer(source) {
      const found = BLOCK.exec(source);
      return found
        ? { type: "formulaBlock", raw: found[0], text: (found[1] ?? found[2]).trim(), display: true }
        : undefined;
    },
    renderer: (token) => `<p>${drawn(/** @type {any} */ (token))}</p>`,
  },
  {
    name: "formula",
    level: "inline",
    start: (source) => /\$|\\[([]/.exec(source)?.index,
    tokenizer(source) {
      for (const { pattern, display } of INLINE) {
        const found = pattern.exec(source.slice(0, 4000));
        if (found && !PRICE.test(found[1])) return { type: "formula", raw: found[0], text: found[1].trim(), display };
      }
      return undefined;
    },
    renderer: (token) => drawn(/** @type {any} */ (token)),
  },
];

/** Whether drawing costs little, whatever the TeX says. */
function isModest(text) {
  let depth = 0;
  for (const [mark] of text.matchAll(NESTING)) {
    if (/^(?:\{|\\begin|\\left)$/.test(mark)) depth += 1;
    else if (/^(?:\}|\\end|\\right)$/.test(mark)) depth -= 1;
    if (depth > DEEPEST) return false;
  }
  return text.length <= LONGEST && !DEFINITION.test(text);
}

// What a browser's own parser lets through; commands without braces nest, too.
const isDeep = (box) => {
  const depths = new Map([[box, 0]]);
  for (const one of box.querySelectorAll("*")) depths.set(one, (depths.get(one.parentNode) ?? 0) + 1);
  return Math.max(...depths.values()) > MOST_LEVELS;
};

let loading;

function katex() {
  loading ??= import(`${HOME}/katex.js`).then(() => {
    if (isAlone) return window.katex; // its style sheet is in the file
    const sheet = document.createElement("link");
    sheet.rel = "stylesheet";
    sheet.href = `${ROOT}/static/render/${HOME}/katex.css`;
    document.head.append(sheet);
    return window.katex;
  });
  return loading;
}

/** Let a box that scrolls, because a formula may be wider, be reached by keyboard. */
function letScroll(box) {
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", t("formula"));
}

/** Draw the TeX in a `code` element, in a moment. */
export async function drawFormula(code) {
  const text = code.textContent;
  if (!isModest(text)) return;
  try {
    const { render } = await katex();
    const shown = document.createElement("span");
    render(text, shown, { displayMode: code.dataset.math === "block", maxExpand: 500, maxSize: 20, strict: "ignore" });
    if (code.textContent !== text || isDeep(shown)) return;
    shown.dir = "ltr";
    code.replaceChildren(shown);
    code.classList.add("tk-math");
    if (code.dataset.math === "block") letScroll(code);
  } catch {
    loading = window.katex ? loading : undefined; // it is tried again
  }
}
