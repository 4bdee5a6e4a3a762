// What sanitised prose gets to be usable: links that open elsewhere, tables that scroll inside their box and can be copied,
// code with its language and a button to copy it, and each part in the direction of its own language. Nodes only, no HTML.

import { kindOf, openButton } from "./artifacts.js";
import { copyButton } from "./copy.js";
import { sourceButton } from "./diagram.js";
import { dressNotes } from "./footnotes.js";
import { dressImage } from "./images.js";
import { AWAY, safeUrl } from "./links.js";
import { rowsOf, tableTools } from "./tabular.js";
import { t } from "../language.js";
import { isAlone } from "../router.js";

const SHORT = 14;
const LONG = 28;

/** Dress the nodes of one piece in place and return them. */
export function dress(nodes) {
  for (const box of nodes.querySelectorAll("p, li, blockquote, th, td, h2, h3, h4, h5, h6")) box.dir = "auto";
  // What stands in such parts does not decide for the list or the table around them.
  for (const box of nodes.querySelectorAll("ul, ol, table")) box.dir = isRightToLeft(box.textContent) ? "rtl" : "ltr";
  nodes.querySelectorAll("a").forEach(dressLink);
  nodes.querySelectorAll("a[data-image]").forEach(dressImage);
  nodes.querySelectorAll("table").forEach(dressTable);
  nodes.querySelectorAll("pre").forEach(dressCode);
  dressNotes(nodes);
  return nodes;
}

/** Whether the first letter of a text is of a script that is written from right to left. */
const isRightToLeft = (text) => /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(/\p{L}/u.exec(text)?.[0] ?? "");

function dressLink(link) {
  if (!safeUrl(link.getAttribute("href"))) link.replaceWith(...link.childNodes);
  else Object.assign(link, AWAY);
}

function dressTable(table) {
  const box = document.createElement("div");
  box.className = "tk-scroll";
  box.dir = table.dir; // so that a wide one begins at its first column
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", t("table"));
  for (const cell of table.querySelectorAll("thead th")) cell.scope = "col";
  for (const cell of table.querySelectorAll("th, td")) cell.className = widthOf(cell.textContent.trim());
  const whole = document.createElement("div");
  table.replaceWith(whole);
  box.append(table);
  whole.append(
    box,
    tableTools((button) => rowsOf(button.parentElement.previousElementSibling.querySelector("table"))),
  );
}

/** Return the class of a cell: a few signs stay in one line, and a sentence gets the room that it needs. */
const widthOf = ({ length }) => (length <= SHORT ? "tk-short" : length > LONG ? "tk-long" : "");

/** Whether some code is a diagram that can be drawn here. */
export const isDiagram = (code) => code.dataset.lang === "mermaid" && !isAlone;

function dressCode(pre) {
  const code = pre.querySelector("code");
  if (!code) return;
  const figure = document.createElement("figure");
  figure.className = "tk-code";
  const head = document.createElement("figcaption");
  const language = document.createElement("span");
  language.textContent = code.dataset.lang || t("text");
  const kind = isAlone ? "" : kindOf(code.dataset.lang ?? "", code.textContent);
  head.append(
    language,
    ...(kind ? [openButton(kind)] : []),
    ...(isDiagram(code) ? [sourceButton()] : []),
    copyButton((button) => button.closest("figure").querySelector("code").textContent),
  );
  pre.tabIndex = 0;
  pre.dir = "ltr";
  pre.replaceWith(figure);
  figure.append(head, pre);
}
