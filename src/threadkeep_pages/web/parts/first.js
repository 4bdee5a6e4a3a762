// The first screen: write at once, or choose who answers from cards with questions to begin with.

import { isAway } from "../conversations.js";
import { html } from "../preact.js";
import { assistantNamed, assistants, isScripted, modelOf, models, nameOf } from "../session.js";
import { assistant, begin, dialog, wishes } from "../views.js";
import { Composer } from "./composer.js";
import { Icon } from "./icon.js";
import { TrialCard } from "./trial.js";
import { rich, t } from "../language.js";

export function FirstScreen() {
  const all = assistants.value;
  const chosen = assistantNamed(assistant.value);
  const model = modelOf(wishes.value, chosen);
  return html`<main class="first" id="main">
    <div class="column">
      <h1>${t("firstTitle")}</h1>
      <p class="muted lead">${t("firstLead")}</p>
      <${Composer} name=${null} onSend=${(text, attached) => begin(text, chosen?.name, attached)}
        placeholder=${chosen && all.length > 1 ? t("askAssistant", { name: nameOf(chosen) }) : t("writeMessage")}
        hint=${isAway.value ? `${t("unreachable")} ${t("keptAndSent")}` : undefined} />
      <p class="answers" data-testid="answers">
        ${model && html`<${Answers} model=${model} /> `}
        <button type="button" class="link" data-testid="open-settings" onClick=${() => (dialog.value = "settings")}>${t("settings")}</button>
        ${wishes.value.system && html` <span class="badge" title=${wishes.value.system}>${t("withInstructions")}</span>`}
      </p>
      <div class="cards" role="group" aria-label=${t("assistants")}>
        <${TrialCard} />
        ${all.map((one) => html`<${Card} key=${one.name} about=${one} isChosen=${all.length > 1 && one === chosen} />`)}
      </div>
    </div>
  </main>`;
}

function Answers({ model }) {
  if (!isScripted(model))
    return html`<span class="muted">${rich("answeredBy", { model: html`<strong>${model}</strong>` })}</span>`;
  const { reason, missing } = models.value.default ?? {};
  return html`<span class="badge">${t("demo")}</span> <span class="muted" title=${reason ?? ""}>${t("answersScripted", { why: missing ?? t("noModel") })}</span>`;
}

// A click anywhere on a card chooses who answers; one on a question also puts it into the field, where it can be changed
// before it is sent, or taken out again with Ctrl+Z.
function Card({ about, isChosen }) {
  const choose = (text = "") => {
    assistant.value = about.name;
    const field = /** @type {HTMLTextAreaElement | null} */ (document.getElementById("composer"));
    field?.focus();
    if (!field || !text) return;
    field.select();
    document.execCommand("insertText", false, text);
  };
  const onClick = ({ target }) => choose(target.closest(".example")?.textContent);
  return html`<section class="card" data-chosen=${isChosen} data-testid="assistant-card" aria-label=${nameOf(about)} onClick=${onClick}>
    <h2><button type="button" class="plain" aria-pressed=${isChosen}>${nameOf(about)}</button></h2>
    <p class="muted" dir="auto">${about.description}</p>
    <ul>
      ${about.examples
        .slice(0, 3)
        .map(
          (text) =>
            html`<li key=${text}><button type="button" class="example" dir="auto" data-testid="example"><span>${text}</span><${Icon} name="right" /></button></li>`,
        )}
    </ul>
  </section>`;
}
