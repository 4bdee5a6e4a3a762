// All keys in one table, on Ctrl+/. A press of another key changes one.

import { html, useState } from "../preact.js";
import { change, isChanged, isOn, keysOf, reset, shortcuts, turn } from "../keyboard.js";
import { announce } from "../notices.js";
import { dialog } from "../views.js";
import { Button } from "./actions.js";
import { Dialog } from "./dialog.js";
import { t } from "../language.js";

/** @type {[string, TextKey][]} */
const PLACES = [
  ["fixed", "keysFixed"],
  ["anywhere", "keysAnywhere"],
  ["chosen", "keysChosen"],
];

export function Shortcuts() {
  const [asked, setAsked] = useState("");
  const [problem, setProblem] = useState("");
  const take = (one) => (event) => {
    if (asked !== one.name || event.key === "Tab") return;
    event.preventDefault();
    event.stopPropagation();
    const keys = keysOf(event);
    if (!keys) return;
    const other = keys === "Esc" ? null : change(one, keys);
    setProblem(other ? t("keysTaken", { keys, what: t(other.says) }) : "");
    setAsked("");
    if (!other && keys !== "Esc") announce(t("keysChanged", { what: t(one.says), keys }));
  };
  const ask = (name) => {
    setProblem("");
    setAsked(asked === name ? "" : name);
  };
  return html`<${Dialog} title=${t("keyboard")} onClose=${() => (dialog.value = null)} class="wide" testid="shortcuts">
    <p class="muted">${t("shortcutsHelp")}</p>
    ${problem && html`<p class="danger" role="alert">${problem}</p>`}
    <table class="keys">
      ${PLACES.map(
        ([where, label]) =>
          html`<tbody key=${where}>
        <tr><th colspan="2" scope="rowgroup">${t(label)}</th></tr>
        ${shortcuts.value.filter((one) => one.where === where).map((one) => html`<${Line} key=${one.name} one=${one} isAsked=${asked === one.name} onAsk=${() => ask(one.name)} onKey=${take(one)} />`)}
      </tbody>`,
      )}
    </table>
    <div class="edit-buttons">
      <label class="switch">
        <input type="checkbox" checked=${isOn.value} onChange=${(event) => turn(event.currentTarget.checked)} />
        ${t("singleKeys")}
      </label>
      ${isChanged.value && html`<${Button} label=${t("keysReset")} onClick=${reset} />`}
    </div>
  <//>`;
}

function Line({ one, isAsked, onAsk, onKey }) {
  const keys = one.keys.split(/\+(?=.)/).map((key) => html`<kbd key=${key}>${key}</kbd>`);
  if (one.where === "fixed") return html`<tr><td>${t(one.says)}</td><td>${keys}</td></tr>`;
  return html`<tr><td>${t(one.says)}</td>
    <td><button type="button" class="key" title=${t("changeKeys", { what: t(one.says) })} aria-pressed=${isAsked}
      data-testid=${`key-${one.name}`} onClick=${onAsk} onKeyDown=${onKey}>${isAsked ? html`<span class="muted">${t("pressKeys")}</span>` : keys}</button></td></tr>`;
}
