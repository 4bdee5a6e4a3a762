// What a model thought before it spoke: open while it thinks, folded when it speaks, with how long it took.

import { html } from "../preact.js";
import { Markdown } from "./markdown.js";
import { isRecord, listOf, textOf } from "./value.js";
import { t } from "../language.js";

/** Return what was thought in a stored message: its text, and how many seconds it took, if that is known. */
export function reasoningOf({ parts }) {
  const thoughts = listOf(parts).filter((part) => isRecord(part) && part.type === "reasoning");
  const seconds = thoughts.reduce((sum, { duration }) => sum + (Number.isFinite(duration) ? duration : 0), 0);
  const text = thoughts
    .map((thought) => textOf(thought.text))
    .filter(Boolean)
    .join("\n\n");
  return { text, seconds };
}

export function Reasoning({ text, seconds = 0, isThinking = false }) {
  if (!text) return null;
  const told = seconds ? t("thoughtFor", { seconds: Math.max(1, Math.round(seconds)) }) : t("thought");
  return html`<details class="tk-knot tk-reasoning" open=${isThinking} data-testid="reasoning">
    <summary>${isThinking ? t("thinking") : told}</summary>
    <div dir="auto"><${Markdown} text=${text} streaming=${isThinking} /></div>
  </details>`;
}
