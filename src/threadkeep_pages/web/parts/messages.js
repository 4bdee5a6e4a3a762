// The conversation as it is read: groups of messages, what is being written, what waits. It is no live region: the status
// line announces the beginning and the end of an answer instead.

import { grouped, upTo } from "../client/branch.js";
import { html, useComputed, useEffect, useLayoutEffect, useRef, useState } from "../preact.js";
import { go, route } from "../router.js";
import { Scrolling } from "../scrolling.js";
import { Button, answerAgain } from "./actions.js";
import { Answer } from "./answer.js";
import { openArtifact } from "./artifact.js";
import { showDrawn } from "./attached.js";
import { Icon } from "./icon.js";
import { Pending, pendingOf } from "./pending.js";
import { Said } from "./said.js";
import { problemText, t } from "../language.js";

export function Messages({ conversation }) {
  const box = useRef(null);
  /** @type {{ current: Scrolling }} */
  const scrolling = useRef(null);
  const [isAway, setAway] = useState(false);
  useLayoutEffect(() => {
    scrolling.current = new Scrolling(box.current, conversation, setAway);
    return () => scrolling.current.leave();
  }, [conversation]);
  const drawn = () => scrolling.current?.drawn();
  const toEnd = async () => {
    if (conversation.after.value !== null) await conversation.look();
    if (route.value.at) go(conversation.id, { instead: true });
    scrolling.current?.toEnd();
  };
  useEffect(() => {
    const shown = box.current;
    shown.addEventListener("threadkeep-artifact", openArtifact);
    return () => shown.removeEventListener("threadkeep-artifact", openArtifact);
  }, []);
  return html`<div class="messages">
    <div class="scroll" ref=${box} tabindex="0" role="log" aria-live="off" aria-label=${t("messages")} data-testid="messages">
      <div class="column" onClick=${showDrawn}><${List} conversation=${conversation} onDrawn=${drawn} onSend=${toEnd} /></div>
    </div>
    ${
      isAway &&
      html`<button type="button" class="to-end" aria-label=${t("toNewest")} title=${t("toNewest")}
      onClick=${toEnd}><${Icon} name="down" /></button>`
    }
  </div>`;
}

function List({ conversation, onDrawn, onSend }) {
  // The text of the draft changes many times a second; the list needs to know only which draft there is.
  const writing = useComputed(() => conversation.draft.value?.id ?? null);
  const { cut, turns, before, isCurrent, after } = conversation;
  const all = conversation.messages.value;
  const messages = cut.value === null ? all : upTo(all, cut.value);
  const pending = pendingOf(conversation);
  const turn =
    conversation.draft.peek()?.turn ?? Number(Object.keys(turns.value).find((id) => turns.value[id] !== "queued"));
  const isHere =
    after.value === null && (isCurrent.value || cut.value !== null || messages.some((one) => one.turn === turn));
  const groups = withTurn(grouped(messages), isHere ? turn : null, writing.value);
  const count = pending.length;
  useLayoutEffect(onDrawn);
  useEffect(() => {
    if (count) onSend();
  }, [count]);
  return html`
    ${before.value && html`<p class="more muted">${t("olderLoading")}</p>`}
    ${groups.map((group) => drawnGroup(group, conversation, isHere ? turn : null, writing.value))}
    <${Ending} conversation=${conversation} messages=${messages} hasPending=${count > 0} />
    ${after.value === null && pending.map((entry) => html`<${Pending} key=${entry.key} conversation=${conversation} entry=${entry} />`)}
    ${after.value !== null && html`<p class="more muted">${t("newerLoading")}</p>`}`;
}

// Adds a group for a turn that has not said anything yet.
function withTurn(groups, turn, draft) {
  const last = groups.at(-1);
  if (!turn || (last?.turn === turn && last.kind === "answer")) return groups;
  return [...groups, { kind: "answer", key: `t${turn}-${last?.messages.at(-1)?.seq ?? 0}`, turn, messages: [], draft }];
}

function drawnGroup(group, conversation, turn, draft) {
  if (group.kind === "user")
    return html`<${Said} key=${group.key} conversation=${conversation} message=${group.messages[0]} />`;
  if (group.kind === "system")
    return html`<p key=${group.key} class="system muted" dir="auto">${group.messages[0].content}</p>`;
  const isNow = group.turn === turn;
  return html`<${Answer} key=${group.key} conversation=${conversation} messages=${group.messages}
    turnState=${isNow ? conversation.turns.value[turn] : undefined} draft=${isNow ? draft : null} />`;
}

// What is said under the last message: a turn that failed, or a question that nobody answered.
function Ending({ conversation, messages, hasPending }) {
  const failure = conversation.failure.value;
  const last = messages.at(-1);
  if (conversation.isBusy.value || hasPending || conversation.after.value !== null || !last) return null;
  const again = html`<${Button} icon="again" label=${t("regenerate")} onClick=${() => answerAgain(conversation, last)} />`;
  if (failure) {
    return html`<div class="failure" role="group" aria-label=${t("answerFailed")} data-testid="failure">
      <p><${Icon} name="warn" /> <strong>${t("answerFailedNow")}</strong> ${problemText(failure)}</p>${again}
    </div>`;
  }
  if (last.role !== "user" || conversation.cut.value !== null) return null;
  const why = conversation.stopped.value.has(last.turn) ? t("stoppedBefore") : t("noAnswer");
  // The provider's own words follow, if it gave any.
  return html`<div class="failure quiet" data-testid="no-answer"><p>${why} ${conversation.note.value}</p>${again}</div>`;
}
