// What somebody prefers in this browser, whatever the conversation: theme, language, keys, speech. It counts at once.

import { html, useState } from "../preact.js";
import { canDictate, canRead, want, wanted } from "../speech.js";
import { THEMES, chooseTheme, chosenTheme } from "../theme.js";
import { dialog } from "../views.js";
import { Button } from "./actions.js";
import { Sheet } from "./sheet.js";
import { LANGUAGES, chooseLanguage, chosenLanguage, t } from "../language.js";

/** @type {Record<string, TextKey>} */
const NAMES = { "": "themeSystem", light: "themeLight", dark: "themeDark" };

export function Preferences() {
  return html`<${Sheet} name="preferences" title=${t("preferences")}>
    <p class="muted">${t("preferencesHelp")}</p>
    <${Theme} />
    <${Language} />
    <${Speech} />
    <div class="field"><h3>${t("keyboard")}</h3>
      <${Button} label=${t("keyboardShortcuts")} onClick=${() => (dialog.value = "shortcuts")} />
    </div>
  <//>`;
}

function Theme() {
  const [now, setNow] = useState(chosenTheme());
  const choose = (name) => {
    chooseTheme(name);
    setNow(name);
  };
  return html`<fieldset class="field">
    <legend>${t("theme")}</legend>
    <div class="segments">${THEMES.map(
      (name) =>
        html`<label key=${name}><input type="radio" name="theme" checked=${name === now} onChange=${() => choose(name)} /><span>${t(NAMES[name])}</span></label>`,
    )}</div>
  </fieldset>`;
}

function Language() {
  const option = ([name, label]) => html`<option value=${name} selected=${name === chosenLanguage()}>${label}</option>`;
  return html`<div class="field"><label for="set-language">${t("language")}</label>
    <select id="set-language" aria-describedby="language-help" onChange=${(event) => chooseLanguage(event.currentTarget.value)}>
      ${Object.entries({ "": t("asBrowser"), ...LANGUAGES }).map(option)}
    </select>
    <small id="language-help" class="muted">${t("languageHelp")}</small>
  </div>`;
}

// What the browser does with voices.
function Speech() {
  if (!canDictate && !canRead) return null;
  const box = (name, label, hint) =>
    html`<label class="radio">
    <input type="checkbox" checked=${wanted.value[name]} onChange=${(event) => want({ ...wanted.value, [name]: event.currentTarget.checked })} />
    <span>${label} <small class="muted">${hint}</small></span>
  </label>`;
  return html`<fieldset class="field">
    <legend>${t("speechHere")}</legend>
    ${canDictate && box("dictates", t("dictateMessages"), t("dictateHint"))}
    ${canRead && box("reads", t("readAnswers"), t("readAnswersHint"))}
  </fieldset>`;
}
