// Markdown to HTML, one piece for each block at the top of the text. The HTML is not fit to be shown yet: `sanitise.js`
// comes after it. A text is read part by part. While it grows, a block that another one has followed is read once and kept,
// so that each further word costs as much as the last block is long, not as much as the whole answer.

import { Lexer, Marked } from "../vendor/marked-18.2.0/marked.js";
import { nextChunk } from "./chunks.js";
import { isDeeper } from "./depth.js";
import { FOOTNOTES } from "./footnotes.js";
import { FORMULAS } from "./formulas.js";
import { safeUrl } from "./links.js";
import { mend } from "./mend.js";

const HARMLESS = /^(?:<\/?(?:br|sub|sup|kbd|mark|b|i|em|strong|s|u|del|ins|small)\s*\/?>\s*)+$/i;
const ENTITIES = { "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "&": "&amp;" };
const DEFINITION = /^ {0,3}\[[^\]\n]{1,200}\]:.{0,2000}$/gm;
const MOST_DEFINITIONS = 2_000;
const LONGEST_PARAGRAPH = 8_000;
const DEEPEST = 100; // tags in tags: what the browser does with more costs seconds

const escape = (text) => text.replace(/[<>"'&]/g, (mark) => ENTITIES[mark]);
const escapeText = (text) => text.replace(/[<>"']|&(?!#?\w{1,31};)/g, (mark) => ENTITIES[mark]);

/** @type {import("marked").RendererObject} */
const renderer = {
  code({ text, lang }) {
    return `<pre><code data-lang="${escape((lang ?? "").trim().split(/\s/)[0])}">${escape(text)}</code></pre>`;
  },
  heading(/** @type {any} `placed` has given it a level */ { tokens, level }) {
    const shown = this.parser.parseInline(tokens);
    return level ? `<h${level}>${shown}</h${level}>` : `<p><strong>${shown}</strong></p>`;
  },
  html({ text, block }) {
    if (HARMLESS.test(text.trim())) return text;
    const shown = escape(text.trim()).replace(/\n/g, "<br>");
    return block ? `<p>${shown}</p>` : escape(text);
  },
  text(/** @type {any} */ token) {
    return token.tokens ? this.parser.parseInline(token.tokens) : escapeText(token.text);
  },
  link({ href, title, tokens }) {
    const shown = this.parser.parseInline(tokens).replace(/<\/?a\b[^>]*>/g, "");
    return anchor(href, title, shown);
  },
  image({ href, title, text }) {
    return anchor(href, title, escapeText(text || href), " data-image");
  },
  checkbox({ checked }) {
    return checked ? "☑ " : "☐ ";
  },
};

// Some searches of the parser cost the square of what is left to read. So no mark opens anything in an endless paragraph,
// and a run of hundreds of characters without a space is taken as the text that it is.
const unlessEndless = (source) => (source.length > LONGEST_PARAGRAPH ? undefined : false);
/** @type {import("marked").TokenizerObject} */
const tokenizer = {
  del: unlessEndless,
  emStrong: unlessEndless,
  inlineText(source) {
    const run = /^[^\s<>[\]!`\\]{400,}/.exec(source)?.[0];
    return run ? { type: "text", raw: run, text: run, escaped: false } : false;
  },
};

const asWritten = (source) => `<p>${escape(source)}</p>`;

function anchor(href, title, shown, mark = "") {
  const url = safeUrl(href.replaceAll("&amp;", "&"));
  if (!url) return shown;
  return `<a href="${escape(url)}"${title ? ` title="${escape(title)}"` : ""}${mark}>${shown}</a>`;
}

/** Give a heading its level under the page's own title, never more than one below the heading before it. */
function placed(depths, token) {
  if (token.type !== "heading") return depths;
  const above = [...depths.filter((depth) => depth < token.depth), token.depth];
  token.level = Math.min(above.length + 1, 6);
  return above;
}

/**
 * Reads one text that may still grow: `begin` is told what it is now, `next` gives the following pieces, and null at the end.
 * With `breaks`, the end of a line is one, as people expect of what they typed.
 */
export class Reader {
  #marked;
  // What has been read and will not change: so much text, so many pieces, and what the next part has to know of them.
  #settled = "";
  #count = 0;
  #before = "";
  #links = {};
  #depths = [];
  // What is being read.
  #text = "";
  #at = 0;
  #growing = false;

  constructor(breaks = false) {
    this.#marked = new Marked({ breaks, gfm: true, renderer, tokenizer, extensions: [...FORMULAS, ...FOOTNOTES] });
  }

  /** Begin to read a text; return how many pieces there are that stay as they were. */
  begin(text, growing) {
    const whole = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
    if (!growing || !whole.startsWith(this.#settled)) this.#forget(growing ? {} : this.#definitions(whole));
    this.#text = whole;
    this.#growing = growing;
    this.#at = this.#settled.length;
    return this.#count;
  }

  /** Return the pieces of HTML of the next part; null at the end. */
  next() {
    if (this.#at >= this.#text.length) return null;
    const start = this.#at;
    const { source, end, before } = nextChunk(this.#text, start, this.#before);
    const isLast = end === this.#text.length;
    this.#at = end;
    try {
      const tokens = this.#tokens(isLast && this.#growing ? mend(source) : source);
      const pieces = tokens.map((token) => this.#drawn(token)).filter((piece) => piece !== "");
      if (!isLast) this.#settle(end, before, pieces.length, tokens);
      else if (this.#growing) this.#settleBlocks(start, tokens);
      return pieces;
    } catch {
      // Nesting that is too deep for the parser: the words are still there to be read.
      if (!isLast) this.#settle(end, before, 1, []);
      return [asWritten(source)];
    }
  }

  #drawn(token) {
    const piece = this.#marked.parser([token]);
    return isDeeper(piece, DEEPEST) ? asWritten(token.raw) : piece;
  }

  #forget(links) {
    this.#settled = "";
    this.#count = 0;
    this.#before = "";
    this.#links = links;
    this.#depths = [];
  }

  /** Return the definitions of links: whoever refers to one may stand in a part before it. */
  #definitions(text) {
    const lines = (text.match(DEFINITION) ?? []).slice(0, MOST_DEFINITIONS);
    if (lines.length === 0) return {};
    const lexer = new Lexer(this.#marked.defaults);
    lexer.lex(lines.join("\n\n"));
    return lexer.tokens.links;
  }

  #tokens(source) {
    const lexer = new Lexer(this.#marked.defaults);
    Object.assign(lexer.tokens.links, this.#links);
    const tokens = lexer.lex(source);
    tokens.reduce(placed, this.#depths);
    return tokens;
  }

  /** Keep all blocks of the last part but the last one, which may still change. */
  #settleBlocks(start, tokens) {
    const last = tokens.findLastIndex((token) => token.type !== "space");
    if (last <= 0) return;
    const kept = tokens.slice(0, last);
    const length = kept.reduce((sum, token) => sum + token.raw.length, 0) - this.#before.length;
    if (length <= 0) return; // only what the part before had to say
    const count = kept.filter((token) => this.#marked.parser([token]) !== "").length;
    this.#settle(start + length, "", count, kept);
  }

  #settle(end, before, count, tokens) {
    this.#settled = this.#text.slice(0, end);
    this.#before = before;
    this.#count += count;
    this.#depths = tokens.reduce(placed, this.#depths);
    for (const token of tokens) {
      if (token.type === "def") this.#links[token.tag] ??= { href: token.href, title: token.title };
    }
  }
}
