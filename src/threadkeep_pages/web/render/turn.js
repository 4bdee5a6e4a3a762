// Everything that one turn answered, in the order in which it came: thoughts, texts, tool calls and what they showed; sources
// last. Nothing changes its place when the answer is complete, or when it is loaded again. What only an open conversation has
// (a text that grows, a call that waits for a person, files to look at) its page brings as `own`.

import { html } from "../preact.js";
import { Blocks } from "./blocks.js";
import { Files } from "./files.js";
import { Markdown } from "./markdown.js";
import { Reasoning, reasoningOf } from "./reasoning.js";
import { ToolCard } from "./toolcard.js";
import { isRecord } from "./value.js";
import { t } from "../language.js";

/** @type {Own} */
const STORED = {
  thoughts: (message) => html`<${Reasoning} ...${reasoningOf(message)} />`,
  text: (message) => message.content && html`<${Text} text=${message.content} />`,
  files: (parts) => html`<${Files} parts=${parts} />`,
  call: (call, result) =>
    html`<${ToolCard} call=${call} result=${result ?? unfinished()} note=${result ? "" : t("noResult")} />`,
  under: (message) =>
    message.status === "interrupted" && html`<p class="cut-off" data-testid="interrupted">${t("interruptedHere")}</p>`,
};

/** @type {() => Record<string, any>} what stands for a call that never ended */
export const unfinished = () => ({ content: "", duration_ms: null, error: t("noResultError") });

/**
 * The messages of one turn; `drafted` is what is being written behind them.
 * @param {{ messages: any[], drafted?: any[], isOver?: boolean, own?: Partial<Own> }} props
 */
export function Turn({ messages, drafted = [], isOver = true, own = {} }) {
  const results = new Map();
  for (const message of messages) {
    if (message.tool_result) results.set(message.tool_result.tool_call_id, message);
  }
  const { shown, sources } = placed(messages);
  const spoken = messages.filter((message) => message.role === "assistant");
  const how = { ...STORED, ...own };
  return html`
    <${Blocks} blocks=${shown.get(null)} />
    ${[...spoken, ...drafted].map(
      (message) =>
        html`<${Spoken} key=${message.id ?? message.seq} message=${message} results=${results} blocks=${shown.get(message)} how=${how} />`,
    )}
    ${isOver && html`<${Blocks} blocks=${sources} />`}`;
}

function Spoken({ message, results, blocks, how }) {
  return html`
    ${how.thoughts(message)}
    ${how.text(message)}
    ${how.files(message.parts)}
    ${how.under(message)}
    ${(message.tool_calls ?? []).map(
      (call) =>
        html`${how.call(call, resultOf(results.get(call.id)), message)}${how.files(results.get(call.id)?.parts)}`,
    )}
    <${Blocks} blocks=${blocks} />`;
}

const resultOf = (message) => (message ? { content: message.content, ...message.tool_result } : null);

/** One text, growing or stored: the same element, so that nothing jumps when the last word is there. */
export function Text({ text, streaming = false }) {
  return html`<div class="text" dir="auto" data-testid="answer-text"><${Markdown} text=${text} streaming=${streaming} /></div>`;
}

/** Why a model ended an answer before all was said; null where it did not. */
export const endingOf = ({ tool_trace: trace }) =>
  (trace ?? []).find((item) => isRecord(item) && item.kind === "ending") ?? null;

/** What is said of such an end. */
export function Ending({ ending, children }) {
  const told = ending.reason === "length" ? t("answerCut") : t("filterEnded");
  return html`<p class="cut-off" data-testid="ending">${told} ${children}</p>`;
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
    if (!isTool) calling = message;
    sources.push(...(message.parts ?? []).filter(({ type }) => type === "citation"));
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
