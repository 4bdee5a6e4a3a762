// A block of HTML, SVG or Markdown beside the conversation, with those before and after it as its versions. What has code of its
// own is shown in a frame without an origin, which loads nothing and keeps nothing.

import { copyText } from "../copying.js";
import { html, useEffect, useRef } from "../preact.js";
import { artifactsIn } from "../render/artifacts.js";
import { Markdown } from "../render/markdown.js";
import { ROOT } from "../router.js";
import { artifact } from "../views.js";
import { IconButton } from "./icon.js";
import { number, t } from "../language.js";

const TYPES = { html: "text/html", svg: "image/svg+xml", markdown: "text/markdown" };
const ENDINGS = { html: "html", svg: "svg", markdown: "md" };
const MIDDLE =
  "<!doctype html><style>html,body{height:100%;margin:0}body{display:grid;place-items:center}svg{max-width:100%;max-height:100%}</style>";

/** @type {Element | null} */
let from = null; // what gets the focus back

/** Shows what a button in a message asks for. */
export function openArtifact({ target, detail }) {
  from = target;
  artifact.value = detail;
}

function close() {
  artifact.value = null;
  if (from instanceof HTMLElement && from.isConnected) from.focus();
}

/** @param {{ conversation: OpenConversation, what: { kind: "html" | "svg" | "markdown", text: string } }} props */
export function Artifact({ conversation, what }) {
  const box = useRef(null);
  const { kind, text } = what;
  const all = versionsOf(conversation, what);
  const at = all.lastIndexOf(text);
  const count = useRef(all.length);
  useEffect(() => box.current.focus(), []);
  const show = (place) => (artifact.value = { kind, text: all[place] });
  // Whoever looks at the newest one sees the next one, too.
  useEffect(() => {
    const wasNewest = at === count.current - 1;
    if (all.length > count.current && wasNewest) show(all.length - 1);
    count.current = all.length;
  }, [all.length]);
  const onKeyDown = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
  };
  return html`<aside class="artifact" tabindex="-1" ref=${box} aria-label=${t("artifact")} data-testid="artifact" onKeyDown=${onKeyDown}>
    <header>
      <h2>${kind.toUpperCase()}</h2>
      ${
        all.length > 1 &&
        html`<span class="siblings" role="group" aria-label=${t("versions")}>
        <${IconButton} name="left" label=${t("previousVersion")} disabled=${at <= 0} onClick=${() => show(at - 1)} />
        <span>${number(at + 1)}/${number(all.length)}</span>
        <${IconButton} name="right" label=${t("nextVersion")} disabled=${at >= all.length - 1} onClick=${() => show(at + 1)} />
      </span>`
      }
      <${IconButton} name="copy" label=${t("copy")} onClick=${() => copyText(text)} />
      <${IconButton} name="download" label=${t("download")} onClick=${() => download(kind, text)} />
      <${IconButton} name="close" label=${t("close")} onClick=${close} />
    </header>
    ${kind === "markdown" ? html`<div class="paper" tabindex="0"><${Markdown} key=${text} text=${text} /></div>` : html`<${Frame} key=${text} kind=${kind} text=${text} />`}
  </aside>`;
}

/** Return all blocks of the kind that this branch holds, each once; one that is still being written is the newest. */
function versionsOf(conversation, { kind, text }) {
  const answers = conversation.messages.value.filter(({ role }) => role === "assistant");
  const found = [...new Set(answers.flatMap(({ content }) => artifactsIn(content, kind)))];
  return found.includes(text) ? found : [...found, text];
}

function Frame({ kind, text }) {
  const frame = useRef(null);
  const fill = () => frame.current?.contentWindow?.postMessage({ text: kind === "svg" ? MIDDLE + text : text }, "*");
  useEffect(() => {
    frame.current.addEventListener("load", fill, { once: true });
    frame.current.src = `${ROOT}/static/artifact.html`;
  }, []);
  return html`<iframe ref=${frame} title=${t("artifact")} sandbox="allow-scripts" />`;
}

function download(kind, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: TYPES[kind] }));
  link.download = `artifact.${ENDINGS[kind]}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href));
}
