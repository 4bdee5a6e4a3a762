// Markdown on the page. The text is read in pieces, each is sanitised last and drawn; a piece that did not change is left
// alone. A growing text is drawn at most once a frame, and less often when drawing is dear.

import { html, useEffect, useLayoutEffect, useRef } from "../preact.js";
import { dress } from "./dress.js";
import { highlight } from "./highlight.js";
import { morph } from "./morph.js";
import { Reader } from "./reader.js";
import { sanitise } from "./sanitise.js";

const REST = 4;

/** The text of a message. `streaming` says that it still grows, `breaks` that the end of a line is meant as one. */
export function Markdown({ text, streaming = false, breaks = false }) {
  const box = useRef(null);
  /** @type {{ current: Sheet }} */
  const sheet = useRef(null);
  useLayoutEffect(() => {
    sheet.current ??= new Sheet(box.current, breaks);
    sheet.current.show(typeof text === "string" ? text : String(text ?? ""), streaming);
  }, [text, streaming]);
  useEffect(() => () => sheet.current?.leave(), []);
  return html`<div class="tk-md" ref=${box} />`;
}

/** An element that shows one text: knows which piece of HTML each of its children was made from. */
class Sheet {
  #drawn = [];
  #coloured = new WeakSet();
  #waiting = 0;
  #cost = 0;

  constructor(box, breaks) {
    this.box = box;
    this.reader = new Reader(breaks);
  }

  show(text, growing) {
    this.text = text;
    this.growing = growing;
    if (!growing || this.#drawn.length === 0) this.#draw();
    else this.#waiting ||= setTimeout(() => requestAnimationFrame(() => this.#draw()), this.#cost * REST);
  }

  leave() {
    clearTimeout(this.#waiting);
    this.box = null;
  }

  #draw() {
    if (!this.box) return;
    clearTimeout(this.#waiting);
    this.#waiting = 0;
    const begun = performance.now();
    const pieces = this.reader.read(this.text, this.growing);
    pieces.forEach((piece, at) => this.#drawPiece(piece, at));
    while (this.box.children.length > pieces.length) this.box.lastChild.remove();
    this.#drawn = pieces;
    this.#colour(this.growing ? pieces.length - 1 : pieces.length);
    this.#cost = performance.now() - begun;
  }

  #drawPiece(piece, at) {
    if (this.#drawn[at] === piece) return;
    const child = this.box.children[at] ?? this.box.appendChild(document.createElement("div"));
    morph(child, dress(sanitise(piece)));
    this.#coloured.delete(child);
  }

  /** Colour the code in the first children; the last one is left until it is finished. */
  #colour(count) {
    for (const child of [...this.box.children].slice(0, count)) {
      if (this.#coloured.has(child)) continue;
      this.#coloured.add(child);
      child.querySelectorAll("pre > code").forEach(highlight);
    }
  }
}
