// Notes at the edge of the page, and the line that only a screen reader hears.

import { html, useEffect, useState } from "../preact.js";
import { announced, dismiss, toasts } from "../notices.js";
import { Button } from "./actions.js";
import { IconButton } from "./icon.js";
import { t } from "../language.js";

export function Toasts() {
  return html`<div class="visually-hidden" role="status" aria-live="polite" data-testid="announced">${announced.value}</div>
    <div class="toasts" role="region" aria-label=${t("notes")}>
      ${[...toasts.value].reverse().map((toast) => html`<${Toast} key=${toast.id} toast=${toast} />`)}
    </div>`;
}

function Toast({ toast }) {
  const [left, setLeft] = useState(secondsLeft(toast));
  useEffect(() => {
    if (!toast.action) return undefined;
    const timer = setInterval(() => setLeft(secondsLeft(toast)), 500);
    return () => clearInterval(timer);
  }, [toast]);
  const leave = () => {
    dismiss(toast.id);
    // Where there is no other keyboard, the field would bring up the one on the screen.
    if (!matchMedia("(pointer: coarse)").matches) document.getElementById("composer")?.focus();
  };
  const act = () => {
    leave();
    toast.action.run();
  };
  return html`<div class="toast" data-kind=${toast.kind} role=${toast.kind === "danger" ? "alert" : undefined} data-testid="toast">
    <span dir="auto" title=${toast.text}>${toast.text}</span>
    ${toast.action && html`<${Button} label=${`${toast.action.label} (${left})`} onClick=${act} />`}
    <${IconButton} name="close" label=${t("dismiss")} onClick=${leave} />
  </div>`;
}

const secondsLeft = (toast) => Math.max(0, Math.ceil((toast.until - Date.now()) / 1000));
