// A button with a menu: arrow keys walk, Escape and a click elsewhere close it.

import { html, useLayoutEffect, useRef, useState } from "../preact.js";
import { Icon } from "./icon.js";

// `items` are { label, icon, run } or { label, icon, href, download }; null draws a line between groups.
export function Menu({ label, icon = "more", items, action, class: kind = "" }) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef(null);
  const button = useRef(null);
  const close = (back = true) => {
    setOpen(false);
    if (back) button.current?.focus();
  };
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    box.current.querySelector("[role=menuitem]")?.focus();
    const away = (event) => box.current?.contains(event.target) || setOpen(false);
    addEventListener("pointerdown", away);
    return () => removeEventListener("pointerdown", away);
  }, [isOpen]);

  const onKeyDown = (event) => {
    if (!isOpen) return;
    if (event.key === "Escape" || event.key === "Tab") {
      if (event.key === "Escape") event.preventDefault();
      event.stopPropagation();
      close(event.key === "Escape");
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1, Home: "first", End: "last" }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const all = [...box.current.querySelectorAll("[role=menuitem]")];
    const place = all.findIndex((one) => one === document.activeElement);
    const next = step === "first" ? 0 : step === "last" ? all.length - 1 : (place + step + all.length) % all.length;
    all[next]?.focus();
  };

  return html`<div class=${`menu ${kind}`} ref=${box} onKeyDown=${onKeyDown}>
    <button type="button" class="icon-button" ref=${button} aria-label=${label} title=${label} aria-haspopup="menu"
      aria-expanded=${isOpen} data-testid=${action} data-action=${action} onClick=${() => setOpen(!isOpen)}><${Icon} name=${icon} /></button>
    ${isOpen && html`<div class="menu-sheet" role="menu" aria-label=${label}>${items.map((item) => entry(item, close))}</div>`}
  </div>`;
}

function entry(item, close) {
  if (item === null) return html`<hr />`;
  const inside = html`${item.icon && html`<${Icon} name=${item.icon} />`}<span>${item.label}</span>`;
  const kind = item.kind ?? "";
  if (item.href) {
    return html`<a role="menuitem" tabindex="-1" class=${kind} href=${item.href} download onClick=${() => close()}>${inside}</a>`;
  }
  const onClick = () => {
    close();
    item.run();
  };
  return html`<button type="button" role="menuitem" tabindex="-1" class=${kind} onClick=${onClick}>${inside}</button>`;
}
