// What sanitised prose gets to be usable: links that open elsewhere, tables that scroll inside their box, code with its
// language and a button to copy it, and each paragraph in the direction of its own language. Nodes only, no HTML.

import { copyButton } from "./copy.js";
import { AWAY, safeUrl } from "./links.js";

/** Dress the nodes of one piece in place and return them. */
export function dress(nodes) {
  for (const box of nodes.querySelectorAll("p, li, blockquote, th, td, h2, h3, h4, h5, h6")) box.dir = "auto";
  nodes.querySelectorAll("a").forEach(dressLink);
  nodes.querySelectorAll("table").forEach(dressTable);
  nodes.querySelectorAll("pre").forEach(dressCode);
  return nodes;
}

function dressLink(link) {
  if (!safeUrl(link.getAttribute("href"))) link.replaceWith(...link.childNodes);
  else Object.assign(link, AWAY);
}

function dressTable(table) {
  const box = document.createElement("div");
  box.className = "tk-scroll";
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "Table");
  for (const cell of table.querySelectorAll("thead th")) cell.scope = "col";
  table.replaceWith(box);
  box.append(table);
}

function dressCode(pre) {
  const code = pre.querySelector("code");
  if (!code) return;
  const figure = document.createElement("figure");
  figure.className = "tk-code";
  const head = document.createElement("figcaption");
  const language = document.createElement("span");
  language.textContent = code.dataset.lang || "text";
  head.append(
    language,
    copyButton((button) => button.closest("figure").querySelector("code").textContent),
  );
  pre.tabIndex = 0;
  pre.dir = "ltr";
  pre.replaceWith(figure);
  figure.append(head, pre);
}
