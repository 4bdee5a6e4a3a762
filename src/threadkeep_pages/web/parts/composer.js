// The field to write in. What is written is kept at once, so that nothing is lost before it is sent.

import { detach, retry, uploadAll } from "../attaching.js";
import { attachedTo, draftOf, keepAttached, keepDraft } from "../drafts.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../preact.js";
import { usePrompts } from "./prompts.js";
import { canDictate, dictate, isListening, wanted } from "../speech.js";
import { AttachButtons, pasteFiles, useDrop } from "./attach.js";
import { Attached } from "./attached.js";
import { Icon, IconButton } from "./icon.js";
import { announce } from "../notices.js";
import { t } from "../language.js";

const LONG = 20_000; // characters of a paragraph, and of a draft
const PAUSE = 300;

const isTouch = () => matchMedia("(pointer: coarse)").matches;

// Enter sends, except while a word is being composed and on a touch keyboard, where it makes a new line.
function isSending(event) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return false;
  return !isTouch() || event.metaKey || event.ctrlKey;
}

// The field with the draft `name`: what is in it, whether that is nothing, and how it is emptied.
function useDraft(name, field) {
  const [isBlank, setBlank] = useState(true);
  const late = useRef(/** @type {number | undefined} */ (undefined));
  const shown = (text) => {
    setBlank(!/\S/.test(text));
    grow(field.current);
  };
  const put = (text) => {
    clearTimeout(late.current);
    late.current = undefined;
    field.current.value = text;
    shown(text);
  };
  useLayoutEffect(() => {
    const input = field.current;
    const load = () => put(draftOf(name));
    // What is kept late is kept at the latest when the page is left.
    const write = () => late.current !== undefined && keepDraft(name, input.value);
    load();
    addEventListener("threadkeep-draft", load);
    addEventListener("pagehide", write);
    return () => {
      write();
      clearTimeout(late.current);
      late.current = undefined;
      removeEventListener("threadkeep-draft", load);
      removeEventListener("pagehide", write);
    };
  }, [name]);
  useEffect(() => {
    if (!isTouch()) field.current.focus();
    uploadAll(name);
  }, [name]);
  const onInput = (text) => {
    clearTimeout(late.current);
    const write = () => {
      late.current = undefined;
      keepDraft(name, text);
    };
    // Keeping a very long text takes longer than a key may: it waits until nothing is typed for a moment.
    if (text.length > LONG) late.current = setTimeout(write, PAUSE);
    else write();
    shown(text);
  };
  const clear = () => {
    keepDraft(name, "");
    keepAttached(name, []);
    put("");
  };
  return { isBlank, onInput, clear };
}

// `name` says whose draft it is; `onSend(text, attached)` takes what was written; `onStop` is there while an answer is written. `choices` stand in the field,
// in a line below what is written.
export function Composer({ name, onSend, onStop = null, placeholder, hint, choices = null }) {
  /** @type {{ current: HTMLTextAreaElement }} */
  const field = useRef(null);
  const { isBlank, onInput, clear } = useDraft(name, field);
  const prompts = usePrompts(field);
  const isOver = useDrop(name);
  const attached = attachedTo(name);
  const isWrong = attached.some((one) => one.problem);
  const isEmpty = isWrong || (isBlank && !attached.length);
  const send = (event) => {
    event.preventDefault();
    const text = field.current.value.trim();
    if (isWrong) announce(t("removeFirst"));
    if (isWrong || (!text && !attached.length)) return;
    onSend(text, attached);
    clear();
    prompts.close();
  };
  const onText = () => {
    const { value } = field.current;
    onInput(value);
    prompts.onText(value);
  };
  const onKeyDown = (event) => prompts.onKeyDown(event) || (isSending(event) && send(event));
  return html`<div class="composer-box" data-over=${isOver}>
    <${Attached} list=${attached} onRemove=${(one) => detach(name, one)} onRetry=${(one) => retry(name, one)} />
    ${prompts.list}
    <form class="composer" data-tall=${Boolean(choices)} onSubmit=${send}>
      <${AttachButtons} name=${name} />
      <label class="visually-hidden" for="composer">${t("message")}</label>
      <textarea id="composer" ref=${field} rows="1" dir="auto" placeholder=${placeholder} ...${prompts.heard} onInput=${onText} onBlur=${prompts.close} onPaste=${(event) => pasteFiles(name, event) || pasteLong(event)}
        onKeyDown=${onKeyDown} enterkeyhint="enter" data-testid="composer" />
      ${choices}
      ${canDictate && wanted.value.dictates && html`<${Dictation} field=${field} />`}
      ${onStop && html`<${Round} name="stop" type="button" label=${t("stopAnswer")} by="Esc" onClick=${onStop} />`}
      ${(!onStop || !isEmpty) && html`<${Round} name="send" type="submit" label=${t("send")} by="Enter" disabled=${isEmpty} />`}
    </form>
    ${(hint !== undefined || isOver || isWrong) && html`<p class="hint muted">${isOver ? t("dropFiles") : isWrong ? t("removeFirst") : hint}</p>`}
  </div>`;
}

// Browsers lay a very long paragraph out anew with every key, if it was pasted in their way.
function pasteLong(event) {
  const field = event.currentTarget;
  const text = event.clipboardData.getData("text/plain").replaceAll("\r\n", "\n");
  if (!text.split("\n").some((line) => line.length > LONG)) return;
  event.preventDefault();
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

// Writes what is said behind what is written.
function Dictation({ field }) {
  const hear = (text) => {
    const { value } = field.current;
    field.current.value = value && !/\s$/.test(value) ? `${value} ${text}` : value + text;
    field.current.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const label = isListening.value ? t("stopDictating") : t("dictate");
  return html`<${IconButton} name="microphone" label=${label} aria-pressed=${isListening.value} onClick=${() => dictate(hear)} />`;
}

function Round({ name, label, by, ...rest }) {
  return html`<button class=${`round ${name}`} aria-label=${label} title=${`${label} (${by})`} data-testid=${name} ...${rest}>
    <${Icon} name=${name} />
  </button>`;
}

function grow(field) {
  if (CSS.supports("field-sizing", "content")) return;
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}
