// Diagrams: a block of mermaid code is drawn when it comes into view, in the colours of the page, in a frame without an origin.
// The library is large, so it is loaded then, and handed in: nothing can be loaded there. The source is behind a button.

import { t } from "../language.js";
import { ROOT } from "../router.js";

const TALLEST = 4000;
/** How many characters are drawn: thousands of nodes keep the page busy for longer than anybody waits. */
const LONGEST = 8000;
const NEAR = "200px";
const LIBRARY = `${ROOT}/static/vendor/mermaid-tiny-12.0.0/mermaid.js`;
/** What mermaid calls them, by their names on the page. */
const COLOURS = {
  "--bg": ["background"],
  "--surface-2": ["primaryColor", "mainBkg", "actorBkg", "labelBoxBkgColor"],
  "--said": ["secondaryColor", "noteBkgColor", "activationBkgColor"],
  "--surface": ["tertiaryColor", "clusterBkg", "edgeLabelBackground"],
  "--text": ["primaryTextColor", "secondaryTextColor", "tertiaryTextColor", "textColor", "noteTextColor", "titleColor"],
  "--edge": ["primaryBorderColor", "secondaryBorderColor", "tertiaryBorderColor", "noteBorderColor", "clusterBorder"],
  "--muted": ["lineColor", "signalColor"],
};

/** @type {Promise<string> | undefined} */
let loading;

function library() {
  loading ??= fetch(LIBRARY).then((answer) => answer.text());
  loading.catch(() => (loading = undefined)); // there may be a network the next time
  return loading;
}

/** Return a button that shows the source of a diagram, or its drawing again. */
export function sourceButton() {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tk-copy tk-draw";
  button.textContent = t("diagramSource");
  button.hidden = true;
  button.addEventListener("click", () => {
    const figure = /** @type {HTMLElement} */ (button.closest("figure"));
    const shows = figure.dataset.shows === "source" ? "drawing" : "source";
    figure.dataset.shows = shows;
    button.textContent = shows === "source" ? t("diagram") : t("diagramSource");
  });
  return button;
}

/** @type {WeakMap<Element, HTMLElement>} */
const drawings = new WeakMap();
/** @type {IntersectionObserver | undefined} */
let watching;

/** Draw the code of a figure as soon as it comes near what is in view. */
export function drawDiagram(figure) {
  watching ??= watch();
  watching.observe(figure);
}

function watch() {
  const redraw = () => {
    for (const figure of document.querySelectorAll(".tk-code[data-shows]")) draw(figure);
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return new IntersectionObserver(
    (seen, watcher) => {
      for (const { isIntersecting, target } of seen) {
        if (!isIntersecting) continue;
        watcher.unobserve(target);
        draw(target);
      }
    },
    { rootMargin: NEAR },
  );
}

function draw(figure) {
  const text = figure.querySelector("code")?.textContent ?? "";
  const box = document.createElement("div");
  box.className = "tk-diagram";
  drawings.get(figure)?.remove();
  drawings.set(figure, box);
  figure.append(box);
  const fail = (why) => {
    figure.removeAttribute("data-shows");
    box.removeAttribute("aria-busy");
    box.textContent = t("cannotDraw", { why: String(why) });
  };
  if (text.length > LONGEST) {
    fail(`${text.length} > ${LONGEST}`);
    return;
  }
  box.ariaBusy = "true";
  box.append(
    told(t("drawing")),
    frameOf(box, text, () => settle(figure, box), fail),
  );
}

function settle(figure, box) {
  box.removeAttribute("aria-busy");
  box.firstElementChild?.remove();
  figure.dataset.shows ??= "drawing";
  figure.querySelector(".tk-draw").hidden = false;
}

function told(text) {
  const note = document.createElement("p");
  note.className = "tk-working";
  note.textContent = text;
  return note;
}

function frameOf(box, text, done, fail) {
  const frame = document.createElement("iframe");
  frame.title = t("diagram");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.src = `${ROOT}/static/diagram.html`;
  const send = (code) => frame.contentWindow?.postMessage({ library: code, text, colours: coloursOf(box) }, "*");
  frame.addEventListener("load", () => library().then(send, fail), { once: true });
  const hear = ({ source, data }) => {
    if (source !== frame.contentWindow) return;
    removeEventListener("message", hear);
    if (Number.isFinite(data.height)) {
      frame.style.height = `${Math.min(data.height + 8, TALLEST)}px`;
      done();
    } else fail(data.problem);
  };
  addEventListener("message", hear);
  return frame;
}

/** Return the colours of the page as they are now, by mermaid's names, and whether they are dark. */
function coloursOf(box) {
  const probe = document.createElement("i");
  box.append(probe);
  const found = {};
  for (const [name, theirs] of Object.entries(COLOURS)) {
    probe.style.color = `var(${name})`;
    const { color } = getComputedStyle(probe);
    for (const one of theirs) found[one] = color;
  }
  probe.remove();
  const { fontFamily } = getComputedStyle(document.body);
  const [red, green, blue] = (found.background.match(/[\d.]+/g) ?? []).map(Number);
  return { ...found, fontFamily, darkMode: red + green + blue < 384 };
}
