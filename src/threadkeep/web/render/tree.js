// The branches of a conversation as a small tree of buttons. A branch hangs under the older one that it parted from.

import { html } from "../preact.js";
import { isRecord, listOf, textOf } from "./value.js";

/** `tree` is the answer of `/v1/conversations/{id}/tree`; `onChoose` gets the head of the branch that was pressed. */
export function TreeView({ tree, onChoose }) {
  const branches = listOf(tree?.branches).filter((branch) => isRecord(branch) && Number.isFinite(branch.head));
  if (branches.length === 0) return html`<p class="tk-none">No messages yet.</p>`;
  const below = new Map();
  for (const branch of branches) {
    const parent = parentOf(branch, branches);
    below.set(parent, [...(below.get(parent) ?? []), branch]);
  }
  return html`<nav class="tk-tree" aria-label="Branches"><${Level} parent=${undefined} below=${below} onChoose=${onChoose} /></nav>`;
}

/** Return the branch that another one hangs under: the first that holds the entry where they part. */
function parentOf(branch, branches) {
  if (!Number.isFinite(branch.fork)) return undefined;
  const holds = (other) => other !== branch && other.head >= branch.fork && (other.fork ?? 0) < branch.fork;
  return branches.filter((other) => holds(other) && isOlder(other, branch)).sort((one, other) => (one.fork ?? 0) - (other.fork ?? 0))[0];
}

/** Whether a branch may stand above another: never both above each other. */
function isOlder(one, other) {
  return (one.fork ?? 0) < (other.fork ?? 0);
}

function Level({ parent, below, onChoose }) {
  const branches = below.get(parent) ?? [];
  if (branches.length === 0) return null;
  return html`<ul>
    ${branches.map(
      (branch) => html`<li key=${branch.head}>
        <${Leaf} branch=${branch} onChoose=${onChoose} />
        <${Level} parent=${branch} below=${below} onChoose=${onChoose} />
      </li>`,
    )}
  </ul>`;
}

const SPEAKERS = new Map([["user", "You"], ["assistant", "Answer"], ["tool", "Tool"], ["system", "System"]]);

function Leaf({ branch, onChoose }) {
  const isCurrent = branch.is_current === true;
  const where = Number.isFinite(branch.fork) ? `parts after entry ${branch.fork}, ends at ${branch.head}` : `ends at entry ${branch.head}`;
  return html`<button type="button" aria-current=${isCurrent ? "true" : undefined} onClick=${() => onChoose?.(branch.head)}>
    <span class="tk-branch-dot" aria-hidden="true" />
    <span class="tk-branch-text">
      <span class="tk-branch-preview" dir="auto">${textOf(branch.preview).trim() || "(no words)"}</span>
      <span class="tk-note">${[SPEAKERS.get(branch.role), where, isCurrent && "current"].filter(Boolean).join(" · ")}</span>
    </span>
  </button>`;
}
