// What somebody thinks of an answer: a thumb, and a comment if they like. It is stored in the metadata of the conversation.

import { t } from "../language.js";
import { changeMetadata } from "../metadata.js";
import { complain } from "../notices.js";
import { html, useEffect, useRef, useState } from "../preact.js";
import { Button } from "./actions.js";
import { IconButton } from "./icon.js";

const LONGEST = 500;

export function Rating({ conversation, entry }) {
  const [isOpen, setOpen] = useState(false);
  const given = conversation.about.value?.metadata?.feedback?.[entry] ?? null;
  const thumb = (rating, label) => {
    const isGiven = given?.rating === rating;
    const press = () => {
      setOpen(!isGiven);
      rate(conversation, entry, isGiven ? null : { ...given, rating });
    };
    return html`<${IconButton} name=${`thumb-${rating}`} label=${label} aria-pressed=${isGiven} onClick=${press} />`;
  };
  return html`${thumb("up", t("goodAnswer"))}${thumb("down", t("badAnswer"))}
    ${given && !isOpen && html`<button type="button" class="link" onClick=${() => setOpen(true)}>${given.comment ? t("yourComment") : t("comment")}</button>`}
    ${given && isOpen && html`<${Comment} given=${given} onClose=${() => setOpen(false)} onSave=${(comment) => rate(conversation, entry, { rating: given.rating, ...(comment && { comment }) })} />`}`;
}

function Comment({ given, onClose, onSave }) {
  /** @type {{ current: HTMLTextAreaElement }} */
  const field = useRef(null);
  useEffect(() => field.current.form?.scrollIntoView({ block: "nearest" }), []);
  const question = given.rating === "up" ? t("whatWasGood") : t("whatWasBad");
  const save = (event) => {
    event.preventDefault();
    onSave(field.current.value.trim());
    onClose();
  };
  return html`<form class="comment" data-testid="comment" onSubmit=${save}>
    <label class="visually-hidden" for="comment">${question}</label>
    <textarea id="comment" ref=${field} rows="2" dir="auto" maxlength=${LONGEST} defaultValue=${given.comment ?? ""}
      placeholder=${question}
      onKeyDown=${(event) => event.key === "Escape" && (event.stopPropagation(), onClose())} />
    <${Button} label=${t("close")} onClick=${onClose} /><${Button} type="submit" label=${t("save")} class="button primary" />
  </form>`;
}

/**
 * Keeps an opinion in the metadata, by the entry of the answer, beside what else is there; an event tells when it is.
 * @param {OpenConversation} conversation
 * @param {number} entry
 * @param {{ rating: "up" | "down", comment?: string } | null} opinion
 */
async function rate(conversation, entry, opinion) {
  const change = (metadata) => {
    const { [entry]: _, ...others } = metadata.feedback ?? {};
    return { ...metadata, feedback: opinion ? { ...others, [entry]: opinion } : others };
  };
  await changeMetadata(conversation, change).catch(complain);
}
