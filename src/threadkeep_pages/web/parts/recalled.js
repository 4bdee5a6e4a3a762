// What was recalled for an answer: earlier messages, why each of them, and a way to leave one out of the next answer.

import { html } from "../preact.js";
import { isRecord, listOf, textOf } from "../render/value.js";
import { addressOf, onLink } from "../router.js";
import { t } from "../language.js";

const LONGEST = 90;

export function Recalled({ conversation, trace }) {
  const found = trace.filter((item) => isRecord(item) && item.kind === "recall").flatMap(whyOf);
  // Each call of the model in a turn tells anew what it was given.
  const all = [...new Map(found.map((why) => [why.entry, why])).values()];
  if (!all.length) return null;
  return html`<details class="tk-knot recalled" data-testid="recalled">
    <summary>${t("recalled")}</summary>
    <ul>${all.map((why) => html`<${Found} key=${why.entry} conversation=${conversation} why=${why} />`)}</ul>
  </details>`;
}

/** Return an item for each entry, also of a trace that names the entries only. */
function whyOf({ entries, why }) {
  const told = listOf(why).filter((one) => isRecord(one) && Number.isInteger(one.entry));
  const known = new Set(told.map(({ entry }) => entry));
  return [
    ...told,
    ...listOf(entries)
      .filter((entry) => Number.isInteger(entry) && !known.has(entry))
      .map((entry) => ({ entry })),
  ];
}

function Found({ conversation, why }) {
  const { entry } = why;
  const said = conversation.messages.value.find(({ seq }) => seq === entry)?.content ?? "";
  const shown = said.length > LONGEST ? `${said.slice(0, LONGEST)}…` : said;
  const isOut = conversation.leftOut.entries.value.includes(entry);
  return html`<li>
    <a href=${addressOf(conversation.id, entry)} dir="auto" onClick=${(event) => onLink(event, conversation.id, { at: entry })}>${shown || t("entryNumber", { entry: String(entry) })}</a>
    <button type="button" class="link" aria-pressed=${isOut} onClick=${() => conversation.leftOut.change(entry, !isOut)}>${isOut ? t("isLeftOut") : t("leaveOut")}</button>
    <span class="muted">${reasonOf(why)}</span>
  </li>`;
}

function reasonOf({ words, speaker, date, beside }) {
  const told = [
    listOf(words).length > 0 && t("whyWords", { words: listOf(words).map(textOf).join(", ") }),
    speaker && t("whySpeaker", { speaker: textOf(speaker) }),
    date && t("whyDate", { date: textOf(date) }),
    Number.isInteger(beside) && t("whyBeside", { entry: String(beside) }),
  ].filter(Boolean);
  return told.join(" · ") || t("whyRoom");
}
