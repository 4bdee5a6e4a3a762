// Messages that are not in the log yet: on their way, waiting for the network, queued behind a turn, or refused.

import { html } from "../preact.js";
import { Bubble } from "../render/bubble.js";
import * as outbox from "../outbox.js";
import { attachedTo, draftOf, keepAttached, keepDraft } from "../drafts.js";
import { attachedFrom, checked } from "../files.js";
import { Button } from "./actions.js";
import { Attached, Files } from "./attached.js";
import { Icon } from "./icon.js";
import { t } from "../language.js";

// What waits in a conversation, in order: { key, content, label, item }.
export function pendingOf(conversation) {
  const { id } = conversation;
  const matched = new Set(conversation.matched.values());
  const said = conversation.messages.value.filter((message) => message.role === "user");
  const known = new Set([...said, ...conversation.queued.value].map((item) => item.turn));
  const isNew = (item) => !known.has(item.turn) && !conversation.arrived.value.has(item.turn) && !matched.has(item.key);
  const taken = outbox.taken.value.filter((item) => item.conversation === id && isNew(item));
  const waiting = outbox.itemsOf(id).filter((item) => !matched.has(item.key));
  return [
    ...conversation.queued.value.map(({ turn, content, parts }, at) => ({
      key: `q${turn}`,
      content,
      parts,
      state: "queued",
      turn,
      at,
    })),
    ...taken.map((item) => ({ key: item.key, content: item.content, parts: item.parts, state: "sent" })),
    ...waiting.map((item) => ({ key: item.key, content: item.content, state: item.state, item })),
  ];
}

export function Pending({ conversation, entry }) {
  const { content, parts, state, item } = entry;
  return html`<article class="said pending" data-state=${state} data-testid="pending" aria-label=${t("notStoredYet")}>
    <${Files} parts=${parts} />
    <${Attached} list=${item?.attached} />
    ${content && html`<${Bubble} text=${content} />`}
    <footer>${stateOf(state, item)}${state === "queued" && html`<${Queued} conversation=${conversation} entry=${entry} />`}</footer>
    ${state === "stale" && html`<${Stale} conversation=${conversation} item=${item} />`}
    ${state === "refused" && html`<${Refused} conversation=${conversation} item=${item} />`}
  </article>`;
}

function stateOf(state, item) {
  if (state === "queued") return html`<p><${Icon} name="clock" />${t("queuedHelp")}</p>`;
  if (state === "waiting" && outbox.trouble.value) {
    return html`<p><${Icon} name="clock" />${t("waitsHere")}</p>
      <button type="button" class="link" onClick=${outbox.hurry}>${t("tryNow")}</button>
      <button type="button" class="link" onClick=${() => outbox.discard(item)}>${t("discard")}</button>`;
  }
  if (state !== "waiting") return null;
  const isLong = item.attached?.some(({ part }) => !part);
  return html`${t("sending")}${
    isLong && html` <button type="button" class="link" onClick=${() => outbox.discard(item)}>${t("discard")}</button>`
  }`;
}

/** @type {{ turn: number, content: string } | null} */
let moved = null; // what is being moved: it is queued anew, as another turn, and its buttons get the focus back

// What can be done with a message before it is asked.
function Queued({ conversation, entry: { turn, content, parts, at } }) {
  const moveUp = () => {
    moved = { turn, content };
    conversation.moveUp(turn);
  };
  const first = (button) => {
    if (!button || !moved || moved.content !== content || moved.turn === turn) return;
    moved = null;
    if (document.activeElement?.matches("body, [data-testid=messages]")) button.focus();
  };
  const edit = async () => {
    if (await conversation.withdraw(turn)) rewriteAs(conversation, content, attachedFrom(parts));
  };
  return html`
    ${at > 0 && html`<button type="button" class="link" ref=${first} onClick=${moveUp}>${t("moveUp")}</button>`}
    <button type="button" class="link" ref=${at > 0 ? undefined : first} onClick=${edit}>${t("edit")}</button>
    <button type="button" class="link" onClick=${() => conversation.withdraw(turn)}>${t("withdraw")}</button>`;
}

// Puts a text back into the field, behind what is being written there.
function rewriteAs({ id }, content, attached = []) {
  keepAttached(id, checked([...attachedTo(id), ...attached]));
  keepDraft(id, [draftOf(id), content].filter(Boolean).join("\n\n"));
  dispatchEvent(new CustomEvent("threadkeep-draft"));
  document.getElementById("composer")?.focus();
}

// The conversation went on elsewhere since this was written: the person says what is meant.
function Stale({ conversation, item }) {
  const atEnd = async () => {
    await conversation.look();
    outbox.release(item, { expected_head: undefined, parent: undefined });
  };
  const branch = () => conversation.branchOff(item);
  return html`<div class="ask" role="group" aria-label=${t("hasMovedOn")} data-testid="stale">
    <p><strong>${t("movedOnHere")}</strong> ${t("movedOnRest")}</p>
    <div>
      <${Button} label=${t("continueAtEnd")} class="button primary" onClick=${atEnd} />
      <${Button} label=${t("branchHere")} onClick=${branch} />
      <${Button} label=${t("discard")} onClick=${() => outbox.discard(item)} />
    </div>
  </div>`;
}

function Refused({ conversation, item }) {
  const rewrite = () => {
    outbox.takeBack(item);
    conversation.uncut();
    rewriteAs(conversation, item.content, item.attached);
  };
  return html`<div class="ask" role="group" aria-label=${t("notSent")} data-testid="refused">
    <p><strong>${t("notSentNow")}</strong> ${item.problem}</p>
    <div>
      <${Button} label=${t("changeIt")} class="button primary" onClick=${rewrite} />
      <${Button} label=${t("tryAgain")} onClick=${() => outbox.release(item)} />
      <${Button} label=${t("discard")} onClick=${() => {
        outbox.discard(item);
        conversation.uncut();
      }} />
    </div>
  </div>`;
}
