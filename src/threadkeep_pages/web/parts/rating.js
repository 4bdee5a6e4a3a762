// What somebody thinks of an answer: a thumb, and a comment if they like. It is an entry of the log; an event tells of it.

import { conversationPath, post } from "../api.js";
import { t } from "../language.js";
import { complain } from "../notices.js";
import { html, useEffect, useRef, useState } from "../preact.js";
import { Button } from "./actions.js";
import { IconButton } from "./icon.js";

const LONGEST = 500;

export function Rating({ conversation, message }) {
  const [isOpen, setOpen] = useState(false);
  const given = message.feedback ?? null;
  const thumb = (rating, label) => {
    const isGiven = given?.rating === rating;
    const press = () => {
      setOpen(!isGiven);
      rate(conversation, message.seq, { rating: isGiven ? null : rating, comment: isGiven ? null : given?.comment });
    };
    return html`<${IconButton} name=${`thumb-${rating}`} label=${label} aria-pressed=${isGiven} onClick=${press} />`;
  };
  return html`${thumb("up", t("goodAnswer"))}${thumb("down", t("badAnswer"))}
    ${given && !isOpen && html`<button type="button" class="link" onClick=${() => setOpen(true)}>${given.comment ? t("yourComment") : t("comment")}</button>`}
    ${given && isOpen && html`<${Comment} given=${given} onClose=${() => setOpen(false)} onSave=${(comment) => rate(conversation, message.seq, { rating: given.rating, comment: comment || null })} />`}`;
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
 * Tells the server what somebody thinks of an answer; without a rating, nothing any more.
 * @param {OpenConversation} conversation
 * @param {number} entry
 * @param {{ rating: "up" | "down" | null, comment?: string | null }} opinion
 */
const rate = (conversation, entry, opinion) =>
  post(conversationPath(conversation.id, `/messages/${entry}/feedback`), opinion).catch(complain);
