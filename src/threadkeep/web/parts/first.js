// The first screen: write at once, or choose who answers from cards with questions to begin with.

import { isAway } from "../conversations.js";
import { html } from "../preact.js";
import { assistantNamed, assistants, isScripted, modelOf, models, nameOf } from "../session.js";
import { assistant, begin, dialog, wishes } from "../views.js";
import { Composer } from "./composer.js";
import { Icon } from "./icon.js";
import { TrialCard } from "./trial.js";

export function FirstScreen() {
  const all = assistants.value;
  const chosen = assistantNamed(assistant.value);
  const model = modelOf(wishes.value, chosen);
  return html`<main class="first" id="main">
    <div class="column">
      <h1>What would you like to talk about?</h1>
      <p class="muted lead">Every word is stored before you see it. Reload, close the lid, come back: it is there.</p>
      <${Composer} name=${null} onSend=${(text) => begin(text, chosen?.name)}
        placeholder=${chosen && all.length > 1 ? `Ask ${nameOf(chosen)} …` : "Write a message …"}
        hint=${isAway.value ? "The server cannot be reached. What you write is kept in this browser and sent once." : undefined} />
      <p class="answers" data-testid="answers">
        ${model && html`<${Answers} model=${model} /> `}
        <button type="button" class="link" data-testid="open-settings" onClick=${() => (dialog.value = "settings")}>Settings</button>
        ${wishes.value.system && html` <span class="badge" title=${wishes.value.system}>with instructions</span>`}
      </p>
      <div class="cards" role="group" aria-label="Assistants">
        <${TrialCard} />
        ${all.map((one) => html`<${Card} key=${one.name} about=${one} isChosen=${all.length > 1 && one === chosen} />`)}
      </div>
    </div>
  </main>`;
}

function Answers({ model }) {
  if (!isScripted(model)) return html`<span class="muted">Answered by <strong>${model}</strong></span>`;
  const { reason, missing } = models.value.default ?? {};
  return html`<span class="badge">demo</span> <span class="muted" title=${reason ?? ""}>Answers are scripted: ${
    missing ?? "no language model is connected"
  }.</span>`;
}

function Card({ about, isChosen }) {
  const choose = () => {
    assistant.value = about.name;
    document.getElementById("composer")?.focus();
  };
  return html`<section class="card" data-chosen=${isChosen} data-testid="assistant-card" aria-label=${nameOf(about)}>
    <h2><button type="button" class="plain" aria-pressed=${isChosen} onClick=${choose}>${nameOf(about)}</button></h2>
    <p class="muted" dir="auto">${about.description}</p>
    <ul>
      ${about.examples.slice(0, 3).map(
        (text) =>
          html`<li key=${text}><button type="button" class="example" dir="auto" data-testid="example"
        onClick=${() => begin(text, about.name)}><span>${text}</span><${Icon} name="right" /></button></li>`,
      )}
    </ul>
  </section>`;
}
