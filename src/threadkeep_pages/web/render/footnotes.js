// Footnotes in Markdown: a mark in the text leads to the note, and the note back.

import { t } from "../language.js";

/** @type {import("marked").TokenizerAndRendererExtension[]} */
export const FOOTNOTES = [
  {
    name: "footnote",
    level: "block",
    start: (source) => /^ {0,3}\[\^/m.exec(source)?.index,
    tokenizer(source) {
      const found = /^ {0,3}\[\^([^\]\s]{1,40})\]:[ \t]+([^\n]+(?:\n(?: {2,}|\t)[^\n]+)*)(?:\n+|$)/.exec(source);
      if (!found) return undefined;
      const [raw, name, text] = found;
      return { type: "footnote", raw, name, tokens: this.lexer.inlineTokens(text.replace(/\n\s+/g, "\n")) };
    },
    renderer(/** @type {any} */ token) {
      return `<p data-note="${named(token.name)}">${this.parser.parseInline(token.tokens)}</p>`;
    },
  },
  {
    name: "footnoteMark",
    level: "inline",
    start: (source) => source.indexOf("[^"),
    tokenizer(source) {
      const found = /^\[\^([^\]\s]{1,40})\](?!\()/.exec(source);
      return found ? { type: "footnoteMark", raw: found[0], name: found[1] } : undefined;
    },
    renderer: (/** @type {any} */ token) => `<sup data-mark="${named(token.name)}"></sup>`,
  },
];

const named = (name) => name.replace(/[<>"'&]/g, "_");

/** Give marks and notes what leads from one to the other. */
export function dressNotes(nodes) {
  for (const mark of nodes.querySelectorAll("sup[data-mark]")) {
    mark.append(leading(mark.dataset.mark, "note", t("footnote", { name: mark.dataset.mark ?? "" })));
  }
  for (const note of nodes.querySelectorAll("p[data-note]")) {
    const { note: name } = note.dataset;
    note.prepend(leading(name, "mark", t("footnoteBack", { name })), " ");
  }
}

function leading(name, to, label) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tk-footnote";
  button.textContent = name;
  button.setAttribute("aria-label", label);
  button.addEventListener("click", () => {
    const found = button.closest(".tk-md")?.querySelector(`[data-${to}="${CSS.escape(name)}"] button`);
    /** @type {HTMLElement | null | undefined} */ (found)?.focus();
    found?.scrollIntoView({ block: "nearest" });
  });
  return button;
}
