// A tool call that waits for a person: allow it, or refuse it with a reason.

import { html, useState } from "../preact.js";
import { Button } from "./actions.js";

export function Approval({ conversation, call }) {
  const [reason, setReason] = useState("");
  const [isSent, setSent] = useState(false);
  const decided = conversation.approvals.value[call.id];
  if (decided !== undefined) return html`<p class="approval muted">${decided ? "Allowed." : "Refused."}</p>`;
  const decide = async (approved) => {
    setSent(true);
    await conversation.approve(call, approved, approved ? "" : reason);
    setSent(false);
  };
  return html`<div class="approval" role="group" aria-label=${`Allow ${call.name}?`} data-testid="approval">
    <p><strong>${call.name}</strong> runs only if you allow it.</p>
    <input dir="auto" placeholder="Reason, if you refuse (optional)" aria-label="Reason" value=${reason}
      onInput=${(event) => setReason(event.currentTarget.value)} />
    <div>
      <${Button} label="Refuse" disabled=${isSent} onClick=${() => decide(false)} />
      <${Button} label="Allow" class="button primary" disabled=${isSent} onClick=${() => decide(true)} />
    </div>
  </div>`;
}
