// The first screen: write at once, choose at the field who answers and by which model, begin with a suggestion, or go on with
// what was said last.

import { isAway, listed } from "../conversations.js";
import { html } from "../preact.js";
import { addressOf, onLink } from "../router.js";
import { assistantNamed, assistants, isScripted, modelOf, models, nameOf } from "../session.js";
import { assistant, begin, dialog, wishes } from "../views.js";
import { titleOf } from "../titles.js";
import { Composer } from "./composer.js";
import { Icon, IconButton } from "./icon.js";
import { ModelOptions } from "./models.js";
import { TrialCard } from "./trial.js";
import { date, introduction, t } from "../language.js";

const SUGGESTIONS = 4;
const RECENT = 5;

export function FirstScreen() {
  const chosen = assistantNamed(assistant.value);
  const model = modelOf(wishes.value, chosen);
  const isSeveral = assistants.value.length > 1;
  return html`<main class="first" id="main">
    <div class="column">
      <h1>${t("firstTitle")}</h1>
      <p class="muted lead">${t("firstLead")}</p>
      <${Composer} name=${null} onSend=${(text, attached) => begin(text, chosen?.name, attached)}
        placeholder=${chosen && isSeveral ? t("askAssistant", { name: nameOf(chosen) }) : t("writeMessage")}
        hint=${isAway.value ? `${t("unreachable")} ${t("keptAndSent")}` : undefined}
        choices=${html`<${Choices} chosen=${chosen} />`} />
      <${Notes} model=${model} />
      <${Suggestions} about=${chosen} model=${model} />
      <${Recent} />
      <${TrialCard} />
    </div>
  </main>`;
}

// Who answers, and by which model: in the field, where one writes.
function Choices({ chosen }) {
  const choose = (event) => (assistant.value = event.currentTarget.value);
  const take = (event) => (wishes.value = { ...wishes.value, model: event.currentTarget.value || undefined });
  return html`
    ${
      assistants.value.length > 1 &&
      html`<select class="quiet" aria-label=${t("assistant")} data-testid="choose-assistant" value=${chosen?.name} onChange=${choose}>
      ${assistants.value.map((one) => html`<option key=${one.name} value=${one.name} selected=${one === chosen}>${nameOf(one)}</option>`)}
    </select>`
    }
    <select class="quiet" aria-label=${t("model")} data-testid="choose-model" value=${wishes.value.model ?? ""} onChange=${take}>
      <${ModelOptions} chosen=${wishes.value.model ?? ""} usual=${modelOf(null, chosen)} />
    </select>
    <${IconButton} name="mask" label=${t("temporaryChat")} data-testid="choose-temporary" aria-pressed=${Boolean(wishes.value.temporary)}
      onClick=${() => (wishes.value = { ...wishes.value, temporary: !wishes.value.temporary })} />
    <${IconButton} name="sliders" label=${t("settingsNext")} data-testid="open-settings" onClick=${() => (dialog.value = "settings")} />`;
}

function Notes({ model }) {
  const { missing } = models.value.default ?? {};
  const { system, temporary } = wishes.value;
  const isTold = isScripted(model) || system || temporary;
  return (
    isTold &&
    html`<p class="answers muted" data-testid="answers">
    ${isScripted(model) && html`<span title=${models.value.default?.reason ?? ""}>${t("answersScripted", { why: missing ?? t("noModel") })}</span>`}
    ${system && html` <span class="badge" title=${system}>${t("withInstructions")}</span>`}
    ${temporary && html` <span data-testid="temporary-note">${t("temporaryHelp")}</span>`}
  </p>`
  );
}

// A suggestion is put into the field, where it can be changed before it is sent, or taken out again with Ctrl+Z. The scripted
// model knows its questions in English only.
function Suggestions({ about, model }) {
  if (!about) return null;
  const put = (text) => {
    const field = /** @type {HTMLTextAreaElement | null} */ (document.getElementById("composer"));
    field?.focus();
    field?.select();
    document.execCommand("insertText", false, text);
  };
  const texts = about.examples.slice(0, SUGGESTIONS).map((text) => (isScripted(model) ? text : introduction(text)));
  return html`<section class="suggestions" aria-label=${t("suggestions")} data-testid="suggestions">
    <p class="muted" dir="auto">${introduction(about.description)}</p>
    <ul>${texts.map(
      (text) =>
        html`<li key=${text}><button type="button" class="example" dir="auto" data-testid="example" onClick=${() => put(text)}>${text}</button></li>`,
    )}</ul>
  </section>`;
}

function Recent() {
  const newest = listed.value.filter((one) => !one.archived).slice(0, RECENT);
  if (!newest.length) return null;
  return html`<section class="recent" aria-label=${t("recent")} data-testid="recent">
    <h2>${t("recent")}</h2>
    <ul>${newest.map(
      (one) =>
        html`<li key=${one.id}><a href=${addressOf(one.id)} onClick=${(event) => onLink(event, one.id)}>
        <${Icon} name="talk" /><span dir="auto">${titleOf(one)}</span><time class="muted" datetime=${one.updated_at}>${moment(new Date(one.updated_at))}</time>
      </a></li>`,
    )}</ul>
  </section>`;
}

const moment = (at) =>
  at.toDateString() === new Date().toDateString()
    ? date(at, { timeStyle: "short" })
    : date(at, { day: "numeric", month: "short" });
