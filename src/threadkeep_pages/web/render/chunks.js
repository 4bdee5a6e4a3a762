// Cuts a long Markdown text into parts that can be read one after the other, so that no part takes long. A part ends where a
// new block must begin; a block that is longer than any person writes (a table, a list, code) goes on in the next part.

const ENOUGH = 3_000; // from here on, the next gap between two blocks ends a part
const LONG_BLOCK = 12_000; // from here on, any line of a list, a table or a paragraph does
const LONG_CODE = 48_000; // and any line of code
const LONG_LINE = 32_000;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const LIST_ITEM = /^(?:[-+*]|\d{1,9}[.)])(?:\s|$)/;
const RULER = /^\|?[\s:|-]*-[\s:|-]*$/;

/**
 * Return the next part of a text: its `source`, where it ends, and what has to stand `before` the part after it.
 * @param {string} text
 * @param {number} start
 * @param {string} before what the part before said that has to be said again
 */
export function nextChunk(text, start, before) {
  const lines = new Lines(before);
  let at = start;
  while (at < text.length) {
    const next = text.indexOf("\n", at);
    const end = next < 0 ? text.length : next + 1;
    const line = text.slice(at, Math.min(end, at + 400));
    const size = at - start;
    if (size > ENOUGH && lines.isGap(line)) return chunk(before + text.slice(start, at), at, "");
    if (size > (lines.fence ? LONG_CODE : LONG_BLOCK) && lines.mayGoOn(line, size)) {
      return chunk(before + text.slice(start, at) + lines.closing, at, lines.opening);
    }
    if (end - at > LONG_LINE && !lines.fence) {
      const space = text.lastIndexOf(" ", at + LONG_LINE) + 1;
      const cut = space > at ? space : at + LONG_LINE;
      return chunk(before + text.slice(start, cut), cut, "");
    }
    lines.take(line);
    at = end;
  }
  return chunk(before + text.slice(start), text.length, "");
}

const chunk = (source, end, before) => ({ source, end, before });

/** What is known of the lines of a part that were passed. */
class Lines {
  fence = ""; // the mark of an open block of code
  #opened = ""; // the line that opened it
  #table = ""; // the first two lines of the table that goes on
  #last = "";

  constructor(before) {
    for (const line of before.split(/(?<=\n)/)) if (line) this.take(line);
  }

  take(line) {
    const mark = FENCE.exec(line)?.[1];
    if (this.fence) {
      if (mark && mark[0] === this.fence[0] && mark.length >= this.fence.length && line.trim() === mark)
        this.fence = "";
    } else if (mark) [this.fence, this.#opened] = [mark, line];
    else if (!line.includes("|")) this.#table = "";
    else if (!this.#table && RULER.test(line.trim()) && this.#last.includes("|")) this.#table = this.#last + line;
    this.#last = line;
  }

  /** Whether a line that comes now begins a block of its own, whatever was before it. */
  isGap(line) {
    return !this.fence && !this.#last.trim() && /^\S/.test(line) && !LIST_ITEM.test(line);
  }

  /** Whether the block that is open can be gone on with in another part from this line on. */
  mayGoOn(line, size) {
    return Boolean(this.fence || this.#table || /^\S/.test(line) || size > 2 * LONG_BLOCK);
  }

  get closing() {
    return this.fence ? `${this.fence}\n` : "";
  }

  get opening() {
    return this.fence ? this.#opened : this.#table;
  }
}
