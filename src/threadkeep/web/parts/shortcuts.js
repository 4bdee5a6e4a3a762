// The list of keys, on `?`.

import { html } from "../preact.js";
import { KEYS, isOn, turn } from "../keyboard.js";
import { dialog } from "../views.js";
import { Dialog } from "./dialog.js";
import { t } from "../language.js";

export function Shortcuts() {
  return html`<${Dialog} title=${t("keyboard")} onClose=${() => (dialog.value = null)} class="wide" testid="shortcuts">
    <dl class="keys">
      ${KEYS.map(({ keys, says }) => html`<div key=${says}><dt>${keys.map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${t(says)}</dd></div>`)}
    </dl>
    <label class="switch">
      <input type="checkbox" checked=${isOn.value} onChange=${(event) => turn(event.currentTarget.checked)} />
      ${t("singleKeys")}
    </label>
  <//>`;
}
