// Code that is a thing of its own: HTML, SVG, a document in Markdown. Which blocks of a text are, and the button in the head of
// one that asks for it to be shown beside the conversation.

import { t } from "../language.js";

const KINDS = { html: "html", htm: "html", svg: "svg", markdown: "markdown", md: "markdown" };
const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([\w-]+)[^\n]*\n([\s\S]*?)\n {0,3}\1[`~]*[ \t]*$/gm;

/** Return what a block of code is; an empty text for code that is just code. */
export function kindOf(language, text) {
  const name = language.toLowerCase();
  if (name === "xml" && /^\s*<svg[\s>]/i.test(text)) return "svg";
  return Object.hasOwn(KINDS, name) ? KINDS[name] : "";
}

/** Return the texts of all whole blocks of a kind in a text, in order. */
export function artifactsIn(text, kind) {
  return [...text.matchAll(FENCE)]
    .filter(([, , language, inside]) => kindOf(language, inside) === kind)
    .map(([, , , inside]) => inside);
}

/** Return a button that shows the code of its figure; whoever draws the conversation hears it as an event. */
export function openButton(kind) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tk-copy tk-open";
  button.textContent = t("openBeside");
  button.addEventListener("click", () => {
    const text = button.closest("figure")?.querySelector("code")?.textContent ?? "";
    button.dispatchEvent(new CustomEvent("threadkeep-artifact", { bubbles: true, detail: { kind, text } }));
  });
  return button;
}
