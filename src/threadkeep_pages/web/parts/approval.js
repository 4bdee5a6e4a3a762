// A tool call that waits for a person: allow it, or refuse it with a reason.

import { toNext } from "../focus.js";
import { html, useState } from "../preact.js";
import { Button } from "./actions.js";
import { rich, t } from "../language.js";

export function Approval({ conversation, call }) {
  const [reason, setReason] = useState("");
  const [hasReason, setHasReason] = useState(false);
  const [isSent, setSent] = useState(false);
  const decided = conversation.approvals.value[call.id];
  if (decided !== undefined) return html`<p class="approval muted">${decided ? t("allowed") : t("refused")}</p>`;
  const decide = async (approved) => {
    setSent(true);
    await conversation.approve(call, approved, approved ? "" : reason);
    setSent(false);
    requestAnimationFrame(toNext);
  };
  return html`<div class="approval" role="group" aria-label=${t("allowQuestion", { tool: call.name })} data-testid="approval">
    <p>${rich("runsOnlyIf", { tool: html`<strong>${call.name}</strong>` })}</p>
    <button type="button" class="link" aria-expanded=${hasReason} onClick=${() => setHasReason(!hasReason)}>${t("reason")}</button>
    <${Button} label=${t("refuse")} disabled=${isSent} onClick=${() => decide(false)} />
    <${Button} label=${t("allow")} class="button primary" disabled=${isSent} onClick=${() => decide(true)} />
    ${
      hasReason &&
      html`<input dir="auto" placeholder=${t("refuseReason")} aria-label=${t("reason")} value=${reason}
      onInput=${(event) => setReason(event.currentTarget.value)} />`
    }
  </div>`;
}
