// A tool call as a card: what was asked, what came back, how long it took. Open while somebody is asked or waits for long,
// folded when it is done; one that is quick does not move what is below it.

import { html, useEffect, useState } from "../preact.js";
import { Folded } from "./fold.js";
import { Json } from "./json.js";
import { isRecord, textOf } from "./value.js";
import { number, t } from "../language.js";

const LONG = 600;

/**
 * The card of one call. `call` is {id, name, args}; `result` is {content, duration_ms, error} or null while it runs.
 * `note` replaces the word for how it stands (for instance while a person is asked); children come after the arguments.
 * @param {{ call: any, result?: any, note?: string, children?: any }} props
 */
export function ToolCard({ call, result = null, note = "", children }) {
  const isRunning = !result;
  const isAsked = isRunning && Boolean(children);
  const [isOpen, setOpen] = useState(isAsked);
  useEffect(() => {
    setOpen(isAsked);
    const timer = isRunning && !isAsked ? setTimeout(() => setOpen(true), LONG) : undefined;
    return () => clearTimeout(timer);
  }, [isRunning, isAsked]);
  const name = textOf(call?.name) || t("tool");
  const state = isAsked ? "waiting" : isRunning ? "running" : outcomeOf(result);
  const follow = (event) => setOpen(event.currentTarget.open);
  return html`<details class="tk-tool" data-state=${state} open=${isOpen} onToggle=${follow}>
    <summary>
      <span class="tk-tool-mark" aria-hidden="true" />
      <span class="tk-tool-name" dir="auto">${name}</span>
      <span class="tk-tool-gist" dir="auto">${gist(call?.args)}</span>
      <span class="tk-tool-state">${note || told(state, result)}</span>
    </summary>
    <div class="tk-tool-body">
      <p class="tk-label">${t("arguments")}</p>
      <${Arguments} args=${call?.args} />
      ${children}
      ${result && html`<${Result} result=${result} />`}
    </div>
  </details>`;
}

const REFUSED = "refused";
const NOT_ALLOWED = "refused: a person did not allow this call";
const NOT_DECIDED = "the turn was stopped before a person decided";

const outcomeOf = ({ error }) => (error === REFUSED ? "refused" : error ? "failed" : "done");

/** Return why a call was refused, as the person said. */
const reasonOf = (content) => textOf(content).replace(NOT_ALLOWED, "").replace(/^: /, "");

function Arguments({ args }) {
  if (!isRecord(args) || Object.keys(args).length === 0) return html`<p class="tk-none">${t("none")}</p>`;
  return html`<${Json} value=${args} />`;
}

function Result({ result }) {
  if (result.error === REFUSED) {
    const reason = reasonOf(result.content);
    return (
      reason && reason !== NOT_DECIDED && html`<p class="tk-label">${t("yourReason")}</p><p dir="auto">${reason}</p>`
    );
  }
  const content = result.content === result.error ? "" : textOf(result.content); // which tells the same
  const value = parsed(content);
  return html`
    <p class="tk-label">${t("result")}</p>
    ${result.error && html`<p class="tk-error" dir="auto">${textOf(result.error)}</p>`}
    ${value !== undefined && html`<${Json} value=${value} />`}
    ${value === undefined && content.trim() && html`<${Folded} text=${content} />`}
    ${!content.trim() && !result.error && html`<p class="tk-none">${t("empty")}</p>`}
  `;
}

/** Return the object or list that a text is the JSON of, if it is. */
function parsed(text) {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Return the arguments in a few words, for the folded card. */
function gist(args) {
  if (!isRecord(args)) return "";
  return Object.values(args)
    .map((value) => textOf(value).slice(0, 60))
    .filter(Boolean)
    .join(", ")
    .slice(0, 120);
}

function told(state, result) {
  if (!result) return t("running");
  if (state === "refused") return reasonOf(result.content) === NOT_DECIDED ? t("stoppedByYou") : t("refusedByYou");
  const took = duration(result.duration_ms);
  if (state !== "failed") return took || t("done");
  return took ? t("failedAfter", { time: took }) : t("failed");
}

function duration(milliseconds) {
  if (typeof milliseconds !== "number" || !Number.isFinite(milliseconds) || milliseconds < 0) return "";
  if (milliseconds < 1000) return t("milliseconds", { n: Math.round(milliseconds) });
  if (milliseconds < 60_000) {
    const n = number(milliseconds / 1000, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
    return t("seconds", { n });
  }
  const [minutes, seconds] = [Math.floor(milliseconds / 60_000), Math.round((milliseconds % 60_000) / 1000)];
  return t("minutes", { minutes, seconds });
}
