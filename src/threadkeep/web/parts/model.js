// Which model answers, and a choice of another one for this conversation. The scripted one is named as such.

import { html, useState } from "../preact.js";
import { isScripted, modelOf, models } from "../session.js";
import { Button } from "./actions.js";
import { Dialog } from "./dialog.js";
import { dialog } from "../views.js";

export function ModelChoice({ conversation, assistant }) {
  const name = modelOf(conversation.about.value, assistant);
  if (!name) return null;
  const text = isScripted(name) ? "demo · scripted" : name;
  return html`<button type="button" class="model" title=${`${text}: the model that answers; switch it`} data-testid="model"
      onClick=${() => (dialog.value = "model")}>${text}</button>
    ${dialog.value === "model" && html`<${Choose} conversation=${conversation} name=${name} />`}`;
}

function Choose({ conversation, name }) {
  const [other, setOther] = useState("");
  const close = () => (dialog.value = null);
  const choose = (model) => {
    close();
    if (model !== name) conversation.change({ model });
  };
  const known = [...new Set([name, ...models.value.data])];
  const submit = (event) => {
    event.preventDefault();
    if (other.trim()) choose(other.trim());
  };
  return html`<${Dialog} title="Model of this conversation" onClose=${close} testid="model-dialog">
    <ul class="choices">
      ${known.map(
        (model) =>
          html`<li key=${model}><button type="button" class="choice" aria-pressed=${model === name}
        onClick=${() => choose(model)}>
        <strong>${model}</strong> ${isScripted(model) && html`<span class="muted">scripted: plays fixed answers, no language model</span>`}
      </button></li>`,
      )}
    </ul>
    <form class="row" onSubmit=${submit}>
      <input aria-label="Another model, as provider:model" placeholder="provider:model" value=${other}
        onInput=${(event) => setOther(event.currentTarget.value)} />
      <${Button} label="Use" type="submit" class="button primary" />
    </form>
    <p class="muted">Answers from now on come from this model; what was said stays.</p>
  <//>`;
}
