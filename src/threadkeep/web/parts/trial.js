// The card that invites to break the page, and the list of steps that goes along above the field.

import { html } from "../preact.js";
import { assistants } from "../session.js";
import { complain } from "../notices.js";
import { newLocal, add } from "../outbox.js";
import { go } from "../router.js";
import { QUESTION, begin, check, end, isAbout, trial } from "../trial.js";
import { Button } from "./actions.js";
import { Icon, IconButton } from "./icon.js";

export function TrialCard() {
  const run = () => {
    const local = newLocal();
    begin(local);
    add({
      conversation: local,
      content: QUESTION,
      settings: { assistant: assistants.value.find((one) => one.name === "chat")?.name },
    });
    go(local);
  };
  return html`<section class="card trial-card" aria-label="Try to break me" data-testid="trial-card">
    <div>
      <h2>Try to break me</h2>
      <p class="muted">Reload in the middle of an answer. Kill the server. Pull the plug. See what is left.</p>
    </div>
    <${Button} icon="spark" label="Try it" onClick=${run} />
  </section>`;
}

export function TrialSteps({ conversation }) {
  if (!trial.value || !isAbout(conversation)) return null;
  const { steps, result } = trial.value;
  return html`<section class="trial" aria-label="Try to break me" data-testid="trial">
    <header><h2>Try to break me</h2><${IconButton} name="close" label="End the try" onClick=${end} /></header>
    <ol>
      <${Step} isDone=${steps.reload}>Reload this page while the answer is being written. It goes on at the very character.<//>
      <${Step} isDone=${steps.kill}>
        Kill the server: <code>Ctrl+C</code>, or <code>kill -9</code> if you mean it. The page says that it waits.
      <//>
      <${Step} isDone=${steps.kill && steps.checked}>
        Write something now, and close the tab if you like. Start the server again: everything arrives, once.
      <//>
      <${Step} isDone=${steps.checked}>
        Compare the screen with the log. <${Button} label="Compare" onClick=${() => check(conversation).catch(complain)} />
        ${result && html` <strong class=${result.isSame ? "ok" : "danger"}>${told(result)}</strong>`}
      <//>
    </ol>
  </section>`;
}

const told = ({ isSame, messages, characters }) =>
  isSame ? `The same: ${messages} messages, ${characters} characters.` : "They differ.";

function Step({ isDone, children }) {
  return html`<li data-done=${Boolean(isDone)}><span class="tick" aria-hidden="true">${isDone && html`<${Icon} name="done" />`}</span>
    <span>${isDone && html`<span class="visually-hidden">Done: </span>`}${children}</span></li>`;
}
