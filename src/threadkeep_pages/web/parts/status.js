// How the page is connected, in words: live, reconnecting in n s, resumed, caught up with n messages,
// or that the database is away.

import { html, useEffect, useState } from "../preact.js";
import * as outbox from "../outbox.js";
import { t } from "../language.js";

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
      }}>${t("statusNow")}</button>`
    }
  </span>`;
}

function told(conversation, status, seconds) {
  const waiting = outbox.waiting.value;
  const waits = waiting && outbox.trouble.value ? ` · ${t("statusToSend", { n: waiting })}` : "";
  if (!conversation || conversation.phase.value === "local")
    return waits ? ["away", t("statusOffline") + waits] : ["live", t("statusReady")];
  if (conversation.phase.value === "away") return ["away", t("statusAway") + waits];
  if (status.state === "waiting") return ["away", t("statusWaiting", { seconds }) + waits];
  if (status.state === "connecting" && conversation.cursor) return ["busy", t("statusResuming") + waits];
  if (status.state === "connecting") return ["busy", t("statusConnecting")];
  const news = conversation.news.value;
  if (news?.kind === "caught up") return ["good", t("statusCaughtUp", { n: news.messages })];
  if (news) return ["good", t("statusResumed")];
  if (conversation.spooled.value) return ["away", t("statusSpooled") + waits];
  // The stream may live on for a while after the network has gone.
  return waits ? ["away", t("statusCannotSend") + waits] : ["live", t("statusLive")];
}
