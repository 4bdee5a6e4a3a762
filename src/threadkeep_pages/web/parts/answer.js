// Everything that one turn answered, in the order in which it came: tool calls, what they showed, texts; sources and what the
// turn cost last. Nothing changes its place when the answer is complete, or when it is loaded again.

import { toField } from "../focus.js";
import { itemsOf } from "../outbox.js";
import { Component, html } from "../preact.js";
import { Blocks } from "../render/blocks.js";
import { Markdown } from "../render/markdown.js";
import { Reasoning, reasoningOf } from "../render/reasoning.js";
import { RewrittenQuery } from "../render/query.js";
import { ToolCard } from "../render/toolcard.js";
import { Usage, usageOf } from "../render/usage.js";
import { isRecord, textOf } from "../render/value.js";
import { assistantNamed, assistants, nameOf } from "../session.js";
import { canRead, readAloud, reading, wanted } from "../speech.js";
import { Button, Copy, Siblings, answerAgain } from "./actions.js";
import { Approval } from "./approval.js";
import { Files } from "./attached.js";
import { IconButton } from "./icon.js";
import { Rating } from "./rating.js";
import { useSeconds } from "./status.js";
import { t } from "../language.js";

// A group is drawn again only when a message of it changed: a long conversation costs nothing while an answer streams.
export class Answer extends Component {
  shouldComponentUpdate(next) {
    const before = this.props;
    const isSame = (one, other) => one.length === other.length && one.every((item, place) => item === other[place]);
    return (
      before.conversation !== next.conversation ||
      before.turnState !== next.turnState ||
      before.draft !== next.draft ||
      !isSame(before.messages, next.messages)
    );
  }

  render({ conversation, messages, draft, turnState }) {
    const results = new Map();
    for (const message of messages) {
      if (message.tool_result) results.set(message.tool_result.tool_call_id, message);
    }
    const spoken = messages.filter((message) => message.role === "assistant");
    const last = spoken.at(-1);
    const isOver = !turnState && !draft;
    const wasStopped = conversation.stopped.value.has(messages[0]?.turn);
    const { shown, sources } = placed(messages);
    const name = html`<span class="visually-hidden">${isOver ? t("answer") : t("answerGrowing")}</span>`;
    return html`<article class="answer" data-seq=${last?.seq ?? messages[0]?.seq} data-role="assistant" tabindex="-1"
      data-state=${turnState ?? "done"} aria-label=${nameOf(assistantNamed(conversation.about.value?.assistant))}>
      ${name}
      <${Blocks} blocks=${shown.get(null)} />
      ${[...spoken, ...(draft ? [{ id: draft, isDraft: true }] : [])].map(
        (message) =>
          html`<${Spoken} key=${message.id}
        conversation=${conversation} message=${message} results=${results} turnState=${turnState} shown=${shown} />`,
      )}
      ${isOver && html`<${Blocks} blocks=${sources} />`}
      ${isThinking(turnState, draft, spoken, results) && html`<p class="thinking" aria-hidden="true"><i /><i /><i /></p>`}
      ${turnState === "running" && html`<${Retrying} conversation=${conversation} />`}
      ${isOver && wasStopped && html`<p class="cut-off quiet" data-testid="stopped">${t("youStopped")} ${last && html`<${GoOn} conversation=${conversation} message=${last} />`}</p>`}
      ${isOver && last && html`<${Cut} conversation=${conversation} message=${last} />`}
      ${isOver && last && html`<${Footer} conversation=${conversation} messages=${messages} last=${last} />`}
    </article>`;
  }
}

// Which blocks stand under which message: those of tools under the calls, others under their text (under none, if the calls
// are not loaded), sources at the end. The final answer repeats what the tools of its turn have shown; that is drawn once.
function placed(messages) {
  const shown = new Map();
  const sources = [];
  const seen = [];
  let calling = null;
  for (const message of messages) {
    const isTool = message.role === "tool";
    if (!isTool) calling = message.id;
    for (const block of message.blocks ?? []) {
      const text = JSON.stringify(block, inOrder);
      const again = isTool ? -1 : seen.indexOf(text);
      if (again >= 0) seen.splice(again, 1);
      else {
        if (isTool) seen.push(text);
        if (block?.type === "citation") sources.push(block);
        else shown.set(calling, [...(shown.get(calling) ?? []), block]);
      }
    }
  }
  return { shown, sources };
}

// A store may give the fields of an object back in another order.
const inOrder = (_, value) =>
  isRecord(value)
    ? Object.fromEntries(
        Object.keys(value)
          .sort()
          .map((name) => [name, value[name]]),
      )
    : value;

function isThinking(turnState, draft, spoken, results) {
  if (turnState !== "running" || draft) return false;
  const calls = spoken.at(-1)?.tool_calls ?? [];
  return calls.every((call) => results.has(call.id));
}

function Spoken({ conversation, message, results, turnState, shown }) {
  const isCutOff = message.status === "interrupted";
  const wasStopped = conversation.stopped.value.has(message.turn);
  return html`
    <${Thoughts} conversation=${conversation} message=${message} />
    ${(message.content || message.isDraft) && html`<${Text} conversation=${conversation} message=${message} />`}
    <${Files} parts=${message.parts} />
    ${isCutOff && !wasStopped && html`<p class="cut-off" data-testid="interrupted">${t("interruptedHere")} ${!turnState && html`<${GoOn} conversation=${conversation} message=${message} />`}</p>`}
    ${(message.tool_calls ?? []).map(
      (call) =>
        html`<${Call} key=${call.id} conversation=${conversation} call=${call}
      result=${results.get(call.id)} turnState=${turnState} wasStopped=${wasStopped} />
        <${Files} parts=${results.get(call.id)?.parts} />`,
    )}
    <${Blocks} blocks=${shown.get(message.id)} />`;
}

const STOPPED = { content: "", duration_ms: null, error: "refused" };
const unfinished = () => ({ content: "", duration_ms: null, error: t("noResultError") });

function Call({ conversation, call, result, turnState, wasStopped }) {
  if (result || turnState === "running") return html`<${ToolCard} call=${call} result=${resultOf(result)} />`;
  if (!turnState && wasStopped) return html`<${ToolCard} call=${call} result=${STOPPED} note=${t("stoppedByYou")} />`;
  if (!turnState) return html`<${ToolCard} call=${call} result=${unfinished()} note=${t("noResult")} />`;
  // Where one call of an answer needs a person, the others wait for that decision.
  const isAsked = conversation.waiting.value.includes(call.id) || call.id in conversation.approvals.value;
  if (!isAsked) return html`<${ToolCard} call=${call} result=${null} note=${t("waitsForOthers")} />`;
  return html`<${ToolCard} call=${call} result=${null} note=${t("waitsForYou")}>
    <${Approval} conversation=${conversation} call=${call} />
  <//>`;
}

function resultOf(message) {
  return message ? { content: message.content, ...message.tool_result } : null;
}

function Thoughts({ conversation, message }) {
  if (!message.isDraft) return html`<${Reasoning} ...${reasoningOf(message)} />`;
  const draft = conversation.draft.value;
  const isHere = draft?.id === message.id && draft.reasoning;
  return html`<${Reasoning} text=${isHere ? draft.reasoning : ""} isThinking=${isHere && !draft.text} />`;
}

// One text, growing or stored: the same element, so that nothing jumps when the last word is there.
function Text({ conversation, message }) {
  const draft = message.isDraft ? conversation.draft.value : null;
  const text = message.isDraft ? (draft?.id === message.id ? draft.text : "") : message.content;
  return html`<div class="text" dir="auto" data-testid="answer-text">
    <${Markdown} text=${text} streaming=${Boolean(message.isDraft)} />
  </div>`;
}

// An answer that its model ended before all was said.
function Cut({ conversation, message }) {
  const ending = (message.tool_trace ?? []).find((item) => isRecord(item) && item.kind === "ending");
  if (!ending) return null;
  if (ending.reason !== "length") {
    return html`<p class="cut-off" data-testid="ending">${t("filterEnded", { word: textOf(ending.word) })}</p>`;
  }
  return html`<p class="cut-off" data-testid="ending">${t("answerCut")} <${GoOn} conversation=${conversation} message=${message} /></p>`;
}

// Asks the model to go on where the newest answer ends: a message of its own, so that the log says what was done.
function GoOn({ conversation, message }) {
  const isNewest = conversation.messages.value.at(-1)?.seq === message.seq && conversation.after.value === null;
  const isAsked = conversation.isBusy.value || itemsOf(conversation.id).length > 0;
  const goOn = () => {
    conversation.send(t("continueRequest"));
    toField();
  };
  return isNewest && !isAsked && html`<${Button} label=${t("continue")} onClick=${goOn} />`;
}

// The provider failed, and is asked again after a pause.
function Retrying({ conversation }) {
  const retry = conversation.retry.value;
  const seconds = useSeconds(retry?.until);
  if (!retry) return null;
  const { code, attempt, attempts } = retry;
  const why = code === "model_rate_limited" ? t("slowDown") : t("providerFailed");
  return html`<p class="cut-off" data-testid="retrying">${t("askingAgain", { why, seconds, attempt, attempts })}</p>`;
}

function Footer({ conversation, messages, last }) {
  const text = messages.filter((message) => message.role === "assistant").map((message) => message.content);
  const trace = messages.flatMap((message) => message.tool_trace ?? []);
  return html`<footer class="actions">
    <${Siblings} conversation=${conversation} message=${messages[0]} />
    <${Copy} text=${text.filter(Boolean).join("\n\n")} />
    <${IconButton} name="again" label=${t("regenerateHint")} data-action="again"
      onClick=${() => answerAgain(conversation, last)} />
    <${Rating} conversation=${conversation} message=${last} />
    ${canRead && wanted.value.reads && html`<${Aloud} entry=${last.seq} />`}
    <span class="by">${by(conversation, last)}</span>
    <${RewrittenQuery} trace=${trace} />
    <${Usage} message=${last} usage=${usageOf(messages)} />
  </footer>`;
}

function Aloud({ entry }) {
  const isRead = reading.value === entry;
  const press = ({ currentTarget }) => {
    const texts = [...currentTarget.closest("article").querySelectorAll("[data-testid=answer-text]")];
    readAloud(entry, texts.map((text) => text.innerText).join("\n"));
  };
  return html`<${IconButton} name=${isRead ? "stop" : "speaker"} label=${isRead ? t("stopReading") : t("readAloud")} onClick=${press} />`;
}

// Who answered, and with which model.
function by(conversation, { model }) {
  const who = assistants.value.length > 1 && nameOf(assistantNamed(conversation.about.value?.assistant));
  return [who, model, model === "demo" && t("scripted")].filter(Boolean).join(" · ");
}
