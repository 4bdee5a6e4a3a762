// How the page is connected, in words: live, reconnecting in n s, resumed, caught up with n messages,
// or that the database is away.

import { html, useEffect, useState } from "../preact.js";
import * as outbox from "../outbox.js";

// Counts down while the page waits for its next try.
export function useSeconds(at) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!at) return undefined;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [at]);
  return at ? Math.max(1, Math.ceil((at - now) / 1000)) : 0;
}

export function Status({ conversation }) {
  const stream = conversation?.stream.value;
  const status = stream?.status.value ?? { state: "connecting" };
  const seconds = useSeconds(status.at);
  const [kind, text] = told(conversation, status, seconds);
  const canHurry = status.state === "waiting";
  return html`<span class="status" data-kind=${kind} data-testid="status">
    <i aria-hidden="true" />
    <span>${text}</span>
    ${
      canHurry &&
      html`<button type="button" class="link" onClick=${() => {
        stream.hurry();
        outbox.hurry();
      }}>now</button>`
    }
  </span>`;
}

function told(conversation, status, seconds) {
  const waiting = outbox.waiting.value;
  const waits = waiting && outbox.trouble.value ? ` · ${waiting} to send` : "";
  if (!conversation || conversation.phase.value === "local")
    return waits ? ["away", `offline${waits}`] : ["live", "ready"];
  if (conversation.phase.value === "away") return ["away", `server away, trying again${waits}`];
  if (status.state === "waiting") return ["away", `reconnecting in ${seconds} s${waits}`];
  if (status.state === "connecting" && conversation.cursor) return ["busy", `resuming the conversation …${waits}`];
  if (status.state === "connecting") return ["busy", "connecting …"];
  const news = conversation.news.value;
  if (news?.kind === "caught up")
    return ["good", `caught up with ${news.messages} new message${news.messages === 1 ? "" : "s"}`];
  if (news) return ["good", "resumed"];
  if (conversation.spooled.value) return ["away", `kept here, not yet in the database${waits}`];
  // The stream may live on for a while after the network has gone.
  return waits ? ["away", `cannot send${waits}`] : ["live", "live"];
}
