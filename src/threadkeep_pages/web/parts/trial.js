// The card that invites to break the page, and the list of steps that goes along above the field.

import { html } from "../preact.js";
import { assistants } from "../session.js";
import { complain } from "../notices.js";
import { newLocal, add } from "../outbox.js";
import { go } from "../router.js";
import { begin, check, end, isAbout, isKillable, killServer, trial } from "../trial.js";
import { Button } from "./actions.js";
import { Icon, IconButton } from "./icon.js";
import { rich, t } from "../language.js";

export function TrialCard() {
  const run = () => {
    const local = newLocal();
    begin(local);
    add({
      conversation: local,
      content: t("trialQuestion"),
      settings: { assistant: assistants.value.find((one) => one.name === "chat")?.name },
    });
    go(local);
  };
  return html`<section class="card trial-card" aria-label=${t("trialTitle")} data-testid="trial-card">
    <div>
      <h2>${t("trialTitle")}</h2>
      <p class="muted">${t("trialLead")}</p>
    </div>
    <${Button} icon="spark" label=${t("tryIt")} onClick=${run} />
  </section>`;
}

export function TrialSteps({ conversation }) {
  if (!trial.value || !isAbout(conversation)) return null;
  const { steps, result } = trial.value;
  return html`<section class="trial" aria-label=${t("trialTitle")} data-testid="trial">
    <header><h2>${t("trialTitle")}</h2><${IconButton} name="close" label=${t("endTry")} onClick=${end} /></header>
    <ol>
      <${Step} isDone=${steps.reload}>
        ${t("trialReload")} ${!steps.reload && html`<${Button} label=${t("reloadNow")} onClick=${() => location.reload()} />`}
      <//>
      <${Step} isDone=${steps.kill}>
        ${isKillable ? t("trialKillHere") : rich("trialKill", { stop: html`<code>Ctrl+C</code>`, kill: html`<code>kill -9</code>` })}
        ${isKillable && html` <${Button} label=${t("killNow")} class="button danger" onClick=${killServer} />`}
      <//>
      <${Step} isDone=${steps.write}>
        ${isKillable ? t("trialWriteHere") : t("trialWrite")}
      <//>
      <${Step} isDone=${steps.checked}>
        ${t("trialCompare")} <${Button} label=${t("compare")} onClick=${() => check(conversation).catch(complain)} />
        ${result && html` <strong class=${result.isSame ? "ok" : "danger"}>${told(result)}</strong>`}
      <//>
    </ol>
  </section>`;
}

const told = ({ isSame, messages, characters }) =>
  isSame
    ? t("trialSame", {
        messages: t("messagesCount", { n: messages }),
        characters: t("charactersCount", { n: characters }),
      })
    : t("trialDiffer");

function Step({ isDone, children }) {
  return html`<li data-done=${Boolean(isDone)}><span class="tick" aria-hidden="true">${isDone && html`<${Icon} name="done" />`}</span>
    <span>${isDone && html`<span class="visually-hidden">${t("doneStep")}</span>`}${children}</span></li>`;
}
