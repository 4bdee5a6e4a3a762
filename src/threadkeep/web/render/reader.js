// Markdown to HTML, one piece for each block at the top of the text. The HTML is not fit to be shown yet: `sanitise.js`
// comes after it. While a text grows, a block that another one has followed is read once and kept, so that each further
// word costs as much as the last block is long, not as much as the whole answer.

import { Lexer, Marked } from "../vendor/marked-18.2.0/marked.js";
import { safeUrl } from "./links.js";
import { mend } from "./mend.js";

const HARMLESS = /^(?:<\/?(?:br|sub|sup|kbd|mark|b|i|em|strong|s|u|del|ins|small)\s*\/?>\s*)+$/i;
const ENTITIES = { "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "&": "&amp;" };
const LONGEST = 400_000;
const LONGEST_PARAGRAPH = 8_000;

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
    return anchor(href, title, escapeText(text || href));
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

function anchor(href, title, shown) {
  const url = safeUrl(href.replaceAll("&amp;", "&"));
  if (!url) return shown;
  return `<a href="${escape(url)}"${title ? ` title="${escape(title)}"` : ""}>${shown}</a>`;
}

/** Give a heading its level under the page's own title, never more than one below the heading before it. */
function placed(depths, token) {
  if (token.type !== "heading") return depths;
  const above = [...depths.filter((depth) => depth < token.depth), token.depth];
  token.level = Math.min(above.length + 1, 6);
  return above;
}

/** Reads one text that may still grow. With `breaks`, the end of a line is one, as people expect of what they typed. */
export class Reader {
  #marked;
  #settled = "";
  #pieces = [];
  #links = {};
  #depths = [];

  constructor(breaks = false) {
    this.#marked = new Marked({ breaks, gfm: true, renderer, tokenizer });
  }

  /** Return the pieces of HTML that the text consists of. */
  read(text, growing) {
    if (text.length > LONGEST) return [`<pre><code data-lang="">${escape(text)}</code></pre>`];
    const whole = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
    if (!growing || !whole.startsWith(this.#settled)) this.#forget();
    const rest = whole.slice(this.#settled.length);
    try {
      return this.#read(growing ? mend(rest) : rest, growing);
    } catch {
      // Nesting that is too deep for the parser: the words are still there to be read.
      return [...this.#pieces, `<p>${escape(rest)}</p>`];
    }
  }

  #forget() {
    this.#settled = "";
    this.#pieces = [];
    this.#links = {};
    this.#depths = [];
  }

  #read(source, growing) {
    const lexer = new Lexer(this.#marked.defaults);
    Object.assign(lexer.tokens.links, this.#links);
    const tokens = lexer.lex(source);
    const last = tokens.findLastIndex((token) => token.type !== "space");
    const depths = tokens.slice(0, last).reduce(placed, this.#depths);
    tokens.slice(Math.max(last, 0)).reduce(placed, depths);
    const pieces = tokens.map((token) => this.#marked.parser([token]));
    if (growing && last > 0) this.#settle(tokens.slice(0, last), pieces, depths);
    else pieces.unshift(...this.#pieces);
    return pieces.filter((piece) => piece !== "");
  }

  /** Keep all blocks but the last, which may still change. */
  #settle(tokens, pieces, depths) {
    const before = this.#pieces;
    this.#depths = depths;
    this.#settled += tokens.map((token) => token.raw).join("");
    this.#pieces = [...before, ...pieces.slice(0, tokens.length)];
    for (const token of tokens) {
      if (token.type === "def") this.#links[token.tag] = { href: token.href, title: token.title };
    }
    pieces.unshift(...before);
  }
}
