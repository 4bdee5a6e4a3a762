// Prompts of one's own: a dialog where they are written, and the list that `/` opens at the field.

import { complain } from "../notices.js";
import { html, useEffect, useState } from "../preact.js";
import { fitting, load, prompts, remove, save } from "../prompts.js";
import { dialog } from "../views.js";
import { Button } from "./actions.js";
import { Dialog } from "./dialog.js";
import { IconButton } from "./icon.js";
import { t } from "../language.js";

const SHOWN = 8;
const LONGEST = 20_000;
const ID = "prompt-choices";

export function Prompts() {
  const [edited, edit] = useState(/** @type {import("../prompts.js").Prompt | null} */ (null));
  useEffect(() => {
    load();
  }, []);
  return html`<${Dialog} title=${t("prompts")} onClose=${() => (dialog.value = null)} class="wide" testid="prompts">
    <p class="muted">${t("promptsHelp")}</p>
    <ul class="choices">${prompts.value.map(
      (one) =>
        html`<li key=${one.name} class="prompt">
        <span><strong dir="auto">/${one.name}</strong><small class="muted" dir="auto">${one.text}</small></span>
        <${IconButton} name="edit" label=${t("editPrompt", { name: one.name })} onClick=${() => edit(one)} />
        <${IconButton} name="bin" label=${t("deletePrompt", { name: one.name })} onClick=${() => remove(one.name).catch(complain)} />
      </li>`,
    )}</ul>
    <${Form} key=${edited?.name ?? ""} edited=${edited} onDone=${() => edit(null)} />
  <//>`;
}

function Form({ edited, onDone }) {
  const send = async (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    const filled = Object.fromEntries(new FormData(form));
    const prompt = { name: String(filled.name).trim().replaceAll(/\s+/g, "-"), text: String(filled.text) };
    try {
      await save(prompt, edited?.name);
      form.reset();
      onDone();
    } catch (error) {
      complain(error);
    }
  };
  return html`<form class="settings" onSubmit=${send}>
    <h3>${edited ? t("editPrompt", { name: edited.name }) : t("newPrompt")}</h3>
    <div class="field"><label for="prompt-name">${t("promptName")}</label>
      <input id="prompt-name" name="name" required maxlength="80" pattern=".*\\S.*" dir="auto" autocomplete="off" defaultValue=${edited?.name ?? ""} placeholder=${t("promptNameHint")} /></div>
    <div class="field"><label for="prompt-text">${t("promptText")}</label>
      <textarea id="prompt-text" name="text" rows="5" required maxlength=${LONGEST} dir="auto" defaultValue=${edited?.text ?? ""} /></div>
    <div class="edit-buttons">
      ${edited && html`<${Button} label=${t("cancel")} onClick=${onDone} />`}
      <${Button} type="submit" label=${t("save")} class="button primary" />
    </div>
  </form>`;
}

/** What fits the `/` that somebody began a message with, and how it is chosen: by arrow keys and Enter, or by a press. */
export function usePrompts(field) {
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const [at, setAt] = useState(0);
  const found = text === null ? [] : fitting(text).slice(0, SHOWN);
  const entries = text === null ? 0 : found.length + (text === "" ? 1 : 0);
  const close = () => setText(null);
  const onText = (value) => {
    const begun = /^\/(\S{0,80})$/.exec(value)?.[1] ?? null;
    if (begun === text) return;
    if (text === null && begun !== null) load();
    setText(begun);
    setAt(0);
  };
  const take = (place) => {
    close();
    field.current.focus();
    field.current.select();
    if (found[place]) return document.execCommand("insertText", false, found[place].text);
    document.execCommand("delete");
    return (dialog.value = "prompts");
  };
  const onKeyDown = (event) => {
    if (!entries || event.isComposing) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const isTaken = (event.key === "Enter" && !event.shiftKey) || event.key === "Tab";
    if (step) setAt((at + step + entries) % entries);
    else if (isTaken) take(at);
    else if (event.key === "Escape") close();
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  const heard = entries
    ? { "aria-haspopup": "listbox", "aria-controls": ID, "aria-activedescendant": `${ID}-${at}` }
    : {};
  const list = entries ? html`<${Choices} found=${found} at=${at} isAll=${text === ""} onTake=${take} />` : null;
  return { onText, onKeyDown, close, heard, list };
}

function Choices({ found, at, isAll, onTake }) {
  const option = (place, inside) =>
    html`<li key=${place} role="option" id=${`${ID}-${place}`} aria-selected=${place === at} onPointerDown=${(
      event,
    ) => {
      event.preventDefault(); // the focus stays in the field
      onTake(place);
    }}>${inside}</li>`;
  return html`<ul class="prompt-choices" id=${ID} role="listbox" aria-label=${t("prompts")} data-testid="prompt-choices">
    ${found.map(({ name, text }, place) => option(place, html`<strong dir="auto">/${name}</strong><span class="muted" dir="auto">${text}</span>`))}
    ${isAll && option(found.length, html`<span>${t("writePrompts")}</span>`)}
  </ul>`;
}
