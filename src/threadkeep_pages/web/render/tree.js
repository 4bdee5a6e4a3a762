// The branches of a conversation as a small tree of buttons. A branch hangs under the older one that it parted from, and
// tells what it parts from there.

import { html } from "../preact.js";
import { isRecord, listOf, textOf } from "./value.js";
import { date, t } from "../language.js";

/** `tree` is the answer of `/v1/conversations/{id}/tree`; `onChoose` gets the head of the branch that was pressed. */
export function TreeView({ tree, onChoose }) {
  const branches = listOf(tree?.branches).filter((branch) => isRecord(branch) && Number.isFinite(branch.head));
  if (branches.length === 0) return html`<p class="tk-none">${t("noMessages")}</p>`;
  const below = new Map();
  for (const branch of branches) {
    const parent = parentOf(branch, branches);
    below.set(parent, [...(below.get(parent) ?? []), branch]);
  }
  return html`<nav class="tk-tree" aria-label=${t("branches")}>
    <${Level} parent=${undefined} below=${below} onChoose=${onChoose} />
  </nav>`;
}

const forkOf = (branch) => (Number.isFinite(branch.fork) ? branch.fork : 0);

/** Return the branch that another one hangs under, which began before it; none for a first branch. */
function parentOf(branch, branches) {
  const head = isRecord(branch.parted) ? branch.parted.branch : undefined;
  return branches.find((other) => other.head === head && forkOf(other) < forkOf(branch));
}

function Level({ parent, below, onChoose }) {
  const branches = below.get(parent) ?? [];
  if (branches.length === 0) return null;
  return html`<ul>
    ${branches.map(
      (branch) =>
        html`<li key=${branch.head}>
        <${Leaf} branch=${branch} onChoose=${onChoose} />
        <${Level} parent=${branch} below=${below} onChoose=${onChoose} />
      </li>`,
    )}
  </ul>`;
}

/** @type {Map<string, TextKey>} */
const SPEAKERS = new Map([
  ["user", "you"],
  ["assistant", "answer"],
  ["tool", "speakerTool"],
  ["system", "speakerSystem"],
]);
const SHORT = 60;

function Leaf({ branch, onChoose }) {
  const isCurrent = branch.is_current === true;
  const speaker = SPEAKERS.get(branch.role);
  const about = [speaker && t(speaker), timeOf(branch.updated_at), isCurrent && t("current")];
  const preview = plain(branch.preview) || t("noWords");
  return html`<button type="button" aria-current=${isCurrent ? "true" : undefined} title=${preview} onClick=${() => onChoose?.(branch.head)}>
    <span class="tk-branch-dot" aria-hidden="true" />
    <span class="tk-branch-text">
      ${isRecord(branch.parted) && html`<span class="tk-note" dir="auto">${partedFrom(branch.parted)}</span>`}
      <span class="tk-branch-preview" dir="auto">${preview}</span>
      <span class="tk-note">${about.filter(Boolean).join(" · ")}</span>
    </span>
  </button>`;
}

// The beginning of a text without the marks of its Markdown.
const plain = (text) =>
  textOf(text)
    .replace(/(\*\*|[*`])(?=\S)(.+?)(?<=\S)\1/g, "$2")
    .replace(/^#+ /, "")
    .trim();

function partedFrom({ role, preview }) {
  const words = plain(preview);
  const short = words.length > SHORT ? `${words.slice(0, SHORT - 1)}…` : words;
  if (!short) return t("partsHere");
  return role === "user" ? t("anotherAnswer", { text: short }) : t("partsAfter", { text: short });
}

/** Return a moment as a time of today, or as a day. */
function timeOf(text) {
  const moment = new Date(textOf(text));
  if (Number.isNaN(moment.getTime())) return "";
  const isToday = moment.toDateString() === new Date().toDateString();
  return isToday ? date(moment, { timeStyle: "short" }) : date(moment, { dateStyle: "medium" });
}
