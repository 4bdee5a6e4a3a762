// Diagrams: a block of mermaid code is drawn when somebody asks for it, in a frame without an origin. The library is large,
// so it is loaded then, and handed in: nothing can be loaded there.

import { t } from "../language.js";
import { ROOT } from "../router.js";

const TALLEST = 4000;
/** How many characters are drawn: thousands of nodes keep the page busy for longer than anybody waits. */
const LONGEST = 8000;
const LIBRARY = `${ROOT}/static/vendor/mermaid-tiny-12.0.0/mermaid.js`;

/** @type {Promise<string> | undefined} */
let loading;

function library() {
  loading ??= fetch(LIBRARY).then((answer) => answer.text());
  loading.catch(() => (loading = undefined)); // there may be a network the next time
  return loading;
}

/** Return a button that draws the code of its figure, and takes the drawing away again. */
export function diagramButton() {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tk-copy tk-draw";
  button.textContent = t("drawDiagram");
  button.addEventListener("click", () => {
    const figure = /** @type {HTMLElement} */ (button.closest("figure"));
    const drawn = figure.querySelector(".tk-diagram");
    if (drawn) drawn.remove();
    else figure.append(frameOf(figure.querySelector("code")?.textContent ?? ""));
    button.textContent = drawn ? t("drawDiagram") : t("hideDiagram");
  });
  return button;
}

function frameOf(text) {
  const box = document.createElement("div");
  box.className = "tk-diagram";
  const frame = document.createElement("iframe");
  frame.title = t("diagram");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.src = `${ROOT}/static/diagram.html`;
  const isDark = getComputedStyle(document.documentElement).colorScheme === "dark";
  const fail = (why) => (box.textContent = t("cannotDraw", { why: String(why) }));
  if (text.length > LONGEST) {
    fail(`${text.length} > ${LONGEST}`);
    return box;
  }
  frame.addEventListener("load", () =>
    library().then((code) => frame.contentWindow?.postMessage({ library: code, text, isDark }, "*"), fail),
  );
  const hear = ({ source, data }) => {
    if (source !== frame.contentWindow) return;
    removeEventListener("message", hear);
    if (Number.isFinite(data.height)) frame.style.height = `${Math.min(data.height + 8, TALLEST)}px`;
    else fail(data.problem);
  };
  addEventListener("message", hear);
  box.append(frame);
  return box;
}
