// The list of keys, on Ctrl+/.

import { html } from "../preact.js";
import { ANYWHERE, CHOSEN, isOn, turn } from "../keyboard.js";
import { dialog } from "../views.js";
import { Dialog } from "./dialog.js";
import { t } from "../language.js";

export function Shortcuts() {
  return html`<${Dialog} title=${t("keyboard")} onClose=${() => (dialog.value = null)} class="wide" testid="shortcuts">
    <${List} keys=${ANYWHERE} />
    <h3>${t("keysChosen")}</h3>
    <${List} keys=${CHOSEN} />
    <label class="switch">
      <input type="checkbox" checked=${isOn.value} onChange=${(event) => turn(event.currentTarget.checked)} />
      ${t("singleKeys")}
    </label>
  <//>`;
}

function List({ keys: all }) {
  return html`<dl class="keys">
    ${all.map(({ keys, says }) => html`<div key=${says}><dt>${keys.map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${t(says)}</dd></div>`)}
  </dl>`;
}
