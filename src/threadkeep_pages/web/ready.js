// A notification when the answer is ready and nobody looks at its tab. Whoever waits long for one is asked once whether that
// is wanted.

import { busy } from "./conversations.js";
import { note } from "./notices.js";
import { effect, untracked } from "./preact.js";
import { ROOT } from "./router.js";
import { keep, kept } from "./shelf.js";
import { titleOf } from "./titles.js";
import { opened } from "./views.js";
import { t } from "./language.js";

const LONG = 15_000;
const SHOWN = 12;

export function start() {
  if (!("Notification" in window)) return;
  let was = "";
  /** @type {number | undefined} */
  let asking;
  effect(() => {
    const conversation = opened.value;
    const now = (conversation && busy.value[conversation.id]) ?? "";
    clearTimeout(asking);
    if (now === "running") asking = setTimeout(ask, LONG);
    if (was === `${conversation?.id} running` && now !== "running") untracked(() => tell(conversation, now));
    was = `${conversation?.id} ${now}`;
  });
}

function ask() {
  if (Notification.permission !== "default" || kept("asked-to-notify")) return;
  keep("asked-to-notify", true);
  const action = { label: t("notifyMe"), run: () => Notification.requestPermission() };
  note(t("askToNotify"), { action, seconds: SHOWN });
}

function tell(conversation, now) {
  if (!document.hidden || Notification.permission !== "granted") return;
  const body = now === "waiting" ? t("toldApproval") : t("toldReady");
  const shown = new Notification(titleOf(conversation.about.value), {
    body,
    tag: conversation.id,
    icon: `${ROOT}/static/icon-192.png`,
  });
  shown.addEventListener("click", () => {
    window.focus();
    shown.close();
  });
}
