// The last thing that happens to HTML before it becomes part of the page: only known tags and attributes pass.
// What is added afterwards (`dress.js`, `highlight.js`) is made of DOM nodes, never of text that is parsed again.

import "../vendor/dompurify-3.4.17/purify.js";

const COMMON = {
  ALLOW_ARIA_ATTR: false,
  ALLOW_DATA_ATTR: false,
  ALLOW_UNKNOWN_PROTOCOLS: false,
  ALLOWED_NAMESPACES: ["http://www.w3.org/1999/xhtml"],
  RETURN_DOM_FRAGMENT: true,
};

const PROSE = {
  ...COMMON,
  ALLOWED_TAGS: [
    ..."p br hr h2 h3 h4 h5 h6 blockquote ul ol li pre code table thead tbody tr th td a".split(" "),
    ..."strong em b i s u del ins mark small sub sup kbd".split(" "),
  ],
  ALLOWED_ATTR: ["href", "title", "start", "align", "data-lang", "data-math", "data-mark", "data-note", "data-image"],
  ADD_URI_SAFE_ATTR: ["start", "align", "data-lang", "data-math", "data-mark", "data-note", "data-image"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
};

const COLOURED = { ...COMMON, ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"] };

/** Return what sanitises by some rules: it reads them once, where `sanitize` with rules would read them for every piece. */
function sanitiser(rules) {
  const purify = window.DOMPurify(window);
  purify.setConfig(rules);
  return (markup) => purify.sanitize(markup) ?? document.createDocumentFragment();
}

/** Return the HTML of a piece of Markdown as nodes that can do no harm. */
export const sanitise = sanitiser(PROSE);

const sanitiseSpans = sanitiser(COLOURED);

/** Return a highlighter's HTML as nodes: spans with its own class names and text. */
export function sanitiseColours(markup) {
  const nodes = sanitiseSpans(markup);
  for (const span of nodes.querySelectorAll("span")) {
    span.className = span.className
      .split(/\s+/)
      .filter((name) => /^(?:hljs-[\w-]+|\w+_)$/.test(name))
      .join(" ");
  }
  return nodes;
}
