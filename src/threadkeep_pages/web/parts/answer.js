// What one turn answered, in an open conversation: what is shown of it stands in `render/turn.js`; here is what lives, and what
// can be done with it.

import { toField } from "../focus.js";
import { itemsOf } from "../outbox.js";
import { Component, html } from "../preact.js";
import { Reasoning, reasoningOf } from "../render/reasoning.js";
import { RewrittenQuery } from "../render/query.js";
import { ToolCard } from "../render/toolcard.js";
import { Ending, Text, Turn, endingOf, unfinished } from "../render/turn.js";
import { Usage, usageOf } from "../render/usage.js";
import { assistantNamed, assistants, nameOf } from "../session.js";
import { canRead, readAloud, reading, wanted } from "../speech.js";
import { Button, Copy, Siblings, answerAgain } from "./actions.js";
import { Approval } from "./approval.js";
import { Files } from "./attached.js";
import { IconButton } from "./icon.js";
import { Rating } from "./rating.js";
import { Recalled } from "./recalled.js";
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
    const spoken = messages.filter((message) => message.role === "assistant");
    const last = spoken.at(-1);
    const isOver = !turnState && !draft;
    const wasStopped = conversation.stopped.value.has(messages[0]?.turn);
    const name = html`<span class="visually-hidden">${isOver ? t("answer") : t("answerGrowing")}</span>`;
    return html`<article class="answer" data-seq=${last?.seq ?? messages[0]?.seq} data-role="assistant" tabindex="-1"
      data-state=${turnState ?? "done"} aria-label=${nameOf(assistantNamed(conversation.about.value?.assistant))}>
      ${name}
      <${Turn} messages=${messages} drafted=${draft ? [{ id: draft, isDraft: true }] : []} isOver=${isOver}
        own=${ownOf(conversation, turnState)} />
      ${isThinking(turnState, draft, messages) && html`<p class="thinking" aria-hidden="true"><i /><i /><i /></p>`}
      ${turnState === "running" && html`<${Retrying} conversation=${conversation} />`}
      ${isOver && wasStopped && html`<p class="cut-off quiet" data-testid="stopped">${t("youStopped")} ${last && html`<${GoOn} conversation=${conversation} message=${last} />`}</p>`}
      ${isOver && last && html`<${Cut} conversation=${conversation} message=${last} />`}
      ${isOver && last && html`<${Footer} conversation=${conversation} messages=${messages} last=${last} />`}
    </article>`;
  }
}

function isThinking(turnState, draft, messages) {
  if (turnState !== "running" || draft) return false;
  const answered = new Set(messages.map((message) => message.tool_result?.tool_call_id));
  const last = messages.findLast((message) => message.role === "assistant");
  return (last?.tool_calls ?? []).every((call) => answered.has(call.id));
}

// What is shown in another way while the conversation lives.
function ownOf(conversation, turnState) {
  return {
    thoughts: (message) => html`<${Thoughts} conversation=${conversation} message=${message} />`,
    text: (message) =>
      (message.content || message.isDraft) && html`<${Told} conversation=${conversation} message=${message} />`,
    files: (parts) => html`<${Files} parts=${parts} />`,
    under: (message) =>
      message.status === "interrupted" &&
      !conversation.stopped.value.has(message.turn) &&
      html`<p class="cut-off" data-testid="interrupted">${t("interruptedHere")} ${!turnState && html`<${GoOn} conversation=${conversation} message=${message} />`}</p>`,
    call: (call, result, { turn }) =>
      html`<${Call} key=${call.id} conversation=${conversation} call=${call} result=${result} turn=${turn} turnState=${turnState} />`,
  };
}

const STOPPED = { content: "", duration_ms: null, error: "refused" };

function Call({ conversation, call, result, turn, turnState }) {
  if (result || turnState === "running") return html`<${ToolCard} call=${call} result=${result} />`;
  const wasStopped = conversation.stopped.value.has(turn);
  if (!turnState && wasStopped) return html`<${ToolCard} call=${call} result=${STOPPED} note=${t("stoppedByYou")} />`;
  if (!turnState) return html`<${ToolCard} call=${call} result=${unfinished()} note=${t("noResult")} />`;
  // Where one call of an answer needs a person, the others wait for that decision.
  const isAsked = conversation.waiting.value.includes(call.id) || call.id in conversation.approvals.value;
  if (!isAsked) return html`<${ToolCard} call=${call} result=${null} note=${t("waitsForOthers")} />`;
  return html`<${ToolCard} call=${call} result=${null} note=${t("waitsForYou")}>
    <${Approval} conversation=${conversation} call=${call} />
  <//>`;
}

function Thoughts({ conversation, message }) {
  if (!message.isDraft) return html`<${Reasoning} ...${reasoningOf(message)} />`;
  const draft = conversation.draft.value;
  const isHere = draft?.id === message.id && draft.reasoning;
  return html`<${Reasoning} text=${isHere ? draft.reasoning : ""} isThinking=${isHere && !draft.text} />`;
}

// A text that may still grow: the same element all along.
function Told({ conversation, message }) {
  const draft = message.isDraft ? conversation.draft.value : null;
  const text = message.isDraft ? (draft?.id === message.id ? draft.text : "") : message.content;
  return html`<${Text} text=${text} streaming=${Boolean(message.isDraft)} />`;
}

// An answer that its model ended before all was said.
function Cut({ conversation, message }) {
  const ending = endingOf(message);
  if (!ending) return null;
  return html`<${Ending} ending=${ending}>
    ${ending.reason === "length" && html`<${GoOn} conversation=${conversation} message=${message} />`}
  <//>`;
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
    <${RewrittenQuery} trace=${trace} />
    <${Recalled} conversation=${conversation} trace=${trace} />
    <${Usage} message=${last} usage=${usageOf(messages)} by=${by(conversation, last)} />
    <${Copy} text=${text.filter(Boolean).join("\n\n")} />
    <${IconButton} name="again" label=${t("regenerateHint")} data-action="again"
      onClick=${() => answerAgain(conversation, last)} />
    <${Rating} conversation=${conversation} message=${last} />
    ${canRead && wanted.value.reads && html`<${Aloud} entry=${last.seq} />`}
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
