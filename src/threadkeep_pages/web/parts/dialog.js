// A dialog over the page. The browser keeps the focus inside, gives it back, and closes it with Escape.

import { html, useId, useLayoutEffect, useRef } from "../preact.js";
import { IconButton } from "./icon.js";
import { t } from "../language.js";

export function Dialog({ title, onClose, children, class: kind = "", testid }) {
  /** @type {{ current: HTMLDialogElement }} */
  const box = useRef(null);
  const id = useId();
  useLayoutEffect(() => {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    const shown = box.current;
    shown.showModal();
    return () => {
      shown.close(); // nothing outside can have the focus before
      if (before?.isConnected) before.focus?.();
    };
  }, []);
  const onClick = (event) => event.target === box.current && onClose();
  return html`<dialog ref=${box} class=${`dialog ${kind}`} aria-labelledby=${id} data-testid=${testid}
    onClose=${onClose} onClick=${onClick}>
    <div class="dialog-sheet">
      <div class="dialog-head"><h2 id=${id}>${title}</h2><${IconButton} name="close" label=${t("close")} onClick=${onClose} /></div>
      ${children}
    </div>
  </dialog>`;
}
