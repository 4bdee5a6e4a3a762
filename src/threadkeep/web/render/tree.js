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
  return html`<nav class="tk-tree" aria-label="Branches">
    <${Level} parent=${undefined} below=${below} onChoose=${onChoose} />
  </nav>`;
}

const forkOf = (branch) => (Number.isFinite(branch.fork) ? branch.fork : 0);

/** Return the branch that another one hangs under: of those that reach beyond where they part, the one that began first. */
function parentOf(branch, branches) {
  const fork = forkOf(branch);
  const above = branches.filter((other) => other.head >= fork && forkOf(other) < fork);
  return above.sort((one, other) => forkOf(one) - forkOf(other))[0];
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
  const fork = forkOf(branch);
  const where = fork ? `parts after entry ${fork}, ends at ${branch.head}` : `ends at entry ${branch.head}`;
  const about = [SPEAKERS.get(branch.role), where, isCurrent && "current"];
  return html`<button type="button" aria-current=${isCurrent ? "true" : undefined} onClick=${() => onChoose?.(branch.head)}>
    <span class="tk-branch-dot" aria-hidden="true" />
    <span class="tk-branch-text">
      <span class="tk-branch-preview" dir="auto">${textOf(branch.preview).trim() || "(no words)"}</span>
      <span class="tk-note">${about.filter(Boolean).join(" · ")}</span>
    </span>
  </button>`;
}
