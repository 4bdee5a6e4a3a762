// Markdown on the page. The text is read in pieces, each is sanitised last and drawn; a piece that did not change is left
// alone. A long text is drawn in slices of time, from its beginning, so that the page can be used meanwhile; a growing one at
// most once a frame, and less often when drawing is dear.

import { html, useEffect, useLayoutEffect, useRef } from "../preact.js";
import { drawDiagram } from "./diagram.js";
import { dress, isDiagram } from "./dress.js";
import { drawFormula } from "./formulas.js";
import { highlight } from "./highlight.js";
import { morph } from "./morph.js";
import { Reader } from "./reader.js";
import { sanitise } from "./sanitise.js";

const REST = 4;
const SLICE = 12; // milliseconds; what the browser does with what was drawn comes on top
const FEW = 40; // boxes; those of a longer text are kept together in parts of so many
const AT_ONCE = 4_000; // so much is drawn in any case, so that an answer of usual length is there at once

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

/** An element that shows one text: knows which piece of HTML each of its boxes was made from. */
class Sheet {
  /** @type {string[]} */
  #drawn = [];
  /** @type {HTMLElement[]} */
  #boxes = [];
  /** @type {HTMLElement | null} */
  #part = null; // what the next boxes of a long text go into
  #at = 0; // the next piece to be drawn
  /** @type {string[]} */
  #pieces = []; // those that were read and not drawn yet
  #isBusy = false;
  #isStale = false; // the text has grown since its drawing began
  /** @type {Set<Element>} */
  #plain = new Set(); // boxes whose code has no colours yet
  /** @type {number | undefined} */
  #waiting;
  #cost = 0;
  #drawnAt = 0; // when
  #height = 0; // of that part, about

  constructor(box, breaks) {
    this.box = box;
    this.reader = new Reader(breaks);
  }

  show(text, growing) {
    this.text = text;
    this.growing = growing;
    if (!growing || this.#drawn.length === 0) this.#begin();
    else if (this.#isBusy) this.#isStale = true;
    else if (this.#waiting === undefined) {
      const rest = this.#drawnAt + this.#cost * REST - performance.now();
      if (rest <= 0) this.#begin();
      else this.#waiting = setTimeout(() => requestAnimationFrame(() => this.#begin()), rest);
    }
  }

  leave() {
    clearTimeout(this.#waiting);
    this.box = null;
  }

  #begin() {
    clearTimeout(this.#waiting);
    this.#waiting = undefined;
    this.#isStale = false;
    this.#cost = 0;
    this.#at = this.reader.begin(this.text, this.growing);
    this.#pieces = [];
    this.#draw(AT_ONCE);
  }

  /** Draw until the time is over, but so much in any case; go on in a moment if there is more. */
  #draw(atLeast = 0) {
    if (!this.box) return;
    const begun = performance.now();
    let left = atLeast;
    for (;;) {
      if (this.#pieces.length === 0) this.#pieces = this.reader.next() ?? [];
      const piece = this.#pieces.shift();
      if (piece === undefined) break;
      this.#drawPiece(piece, this.#at);
      this.#at += 1;
      left -= piece.length;
      if (left <= 0 && performance.now() - begun > SLICE) return this.#pause();
    }
    this.#cost += performance.now() - begun;
    return this.#finish();
  }

  #pause() {
    this.#cost += SLICE;
    this.#colour(); // what this slice has drawn: all of it at the end would be one long task
    this.#isBusy = true;
    this.box.ariaBusy = "true";
    this.#waiting = setTimeout(() => this.#draw());
  }

  #finish() {
    for (const box of this.#boxes.splice(this.#at)) box.remove();
    this.#drawn.length = this.#at;
    this.#isBusy = false;
    this.#waiting = undefined;
    this.#drawnAt = performance.now();
    this.box.ariaBusy = null;
    this.#colour();
    if (this.#isStale) this.show(this.text, this.growing);
  }

  #drawPiece(piece, at) {
    if (this.#drawn[at] === piece) return;
    const box = (this.#boxes[at] ??= this.#newBox(piece));
    morph(box, dress(sanitise(piece)));
    this.#drawn[at] = piece;
    this.#plain.add(box);
  }

  /** Return a box at the end: of the text, or, if it is long, of a part that costs nothing while it is not in view. */
  #newBox(piece) {
    const box = document.createElement("div");
    if (this.#boxes.length < FEW) return this.box.appendChild(box);
    let part = this.#part;
    if (!part?.isConnected || part.childElementCount >= FEW) {
      part = this.#part = document.createElement("div");
      part.className = "tk-part";
      this.box.append(part);
      this.#height = 0;
    }
    this.#height += heightOf(piece);
    part.style.containIntrinsicBlockSize = `auto ${this.#height}em`;
    return part.appendChild(box);
  }

  /** Colour the code and draw the formulas; in a growing text the last box is left until it is finished. */
  #colour() {
    const last = this.growing ? this.#boxes.at(-1) : null;
    for (const box of this.#plain) {
      if (box === last) continue;
      this.#plain.delete(box);
      for (const code of box.querySelectorAll("pre > code")) {
        if (isDiagram(code)) drawDiagram(code.closest("figure"));
        else highlight(code);
      }
      box.querySelectorAll("code[data-math]").forEach(drawFormula);
    }
  }
}

/** Return about how high a piece is: what is not in view has not been measured. */
function heightOf(piece) {
  const lines = piece.split(/\n|<li|<tr/, 2000).length;
  return Math.ceil(1.6 * Math.max(lines, piece.length / 90));
}
