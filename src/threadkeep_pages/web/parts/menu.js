// A button with a menu in the top layer, so that nothing around it cuts it off: it opens where there is room, and scrolls
// where there is not enough. Arrow keys walk, Escape and a click elsewhere close it.

import { html, useLayoutEffect, useRef, useState } from "../preact.js";
import { Icon } from "./icon.js";

const GAP = 4;
const EDGE = 8; // to the edge of the window
const ENOUGH = 200; // a sheet with less room than that takes the whole height of the window

// `items` are { label, icon, run } or { label, icon, href, download }; null draws a line between groups.
export function Menu({ label, icon = "more", items, action, class: kind = "" }) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef(null);
  const close = (isBack = true) => {
    setOpen(false);
    if (isBack) box.current?.firstElementChild.focus();
  };
  return html`<div class=${`menu ${kind}`} ref=${box}>
    <button type="button" class="icon-button" aria-label=${label} title=${label} aria-haspopup="menu"
      aria-expanded=${isOpen} data-testid=${action} data-action=${action} onClick=${() => setOpen(!isOpen)}><${Icon} name=${icon} /></button>
    ${isOpen && html`<${Sheet} label=${label} items=${items} box=${box} close=${close} />`}
  </div>`;
}

function Sheet({ label, items, box, close }) {
  const sheet = useRef(null);
  const all = () => [...sheet.current.querySelectorAll("[role=menuitem]")];
  useLayoutEffect(() => {
    sheet.current.showPopover();
    const at = box.current.getBoundingClientRect();
    place(sheet.current, at);
    all()[0]?.focus();
    const ending = new AbortController();
    const how = { capture: true, signal: ending.signal };
    addEventListener("pointerdown", ({ target }) => box.current?.contains(target) || close(false), how);
    // What is written elsewhere scrolls too; the sheet goes when its button does.
    addEventListener("scroll", () => box.current?.getBoundingClientRect().top === at.top || close(false), how);
    addEventListener("resize", () => close(false), how);
    return () => ending.abort();
  }, []);
  const onKeyDown = (event) => {
    const now = all().findIndex((one) => one === document.activeElement);
    const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined && event.key !== "Escape" && event.key !== "Tab") return;
    event.stopPropagation();
    if (event.key !== "Tab") event.preventDefault();
    if (to === undefined) {
      sheet.current.hidePopover(); // Tab goes on from the button, not into entries that are about to be gone
      close();
    } else
      all()
        .at(to % all().length)
        ?.focus();
  };
  return html`<div class="menu-sheet" role="menu" aria-label=${label} ref=${sheet} popover="manual" onKeyDown=${onKeyDown}>
    ${items.map((item) => entry(item, close))}
  </div>`;
}

// Below the button, or above where there is more room; at its end, or as near to it as the window allows.
function place(sheet, { top, bottom, left, right }) {
  const [width, height] = [document.documentElement.clientWidth, innerHeight];
  const wanted = sheet.scrollHeight + 2;
  const [below, above] = [height - bottom - GAP - EDGE, top - GAP - EDGE];
  const isBelow = wanted <= below || below >= above;
  const room = Math.max(isBelow ? below : above, ENOUGH);
  const tall = Math.min(wanted, room, height - 2 * EDGE);
  const at = isBelow ? bottom + GAP : top - GAP - tall;
  const end = document.dir === "rtl" ? left : right - sheet.offsetWidth;
  const within = (value, size, all) => Math.max(EDGE, Math.min(value, all - size - EDGE));
  sheet.style.top = `${within(at, tall, height)}px`;
  sheet.style.left = `${within(end, sheet.offsetWidth, width)}px`;
  sheet.style.maxHeight = `${tall}px`;
}

function entry(item, close) {
  if (item === null) return html`<hr />`;
  const inside = html`${item.icon && html`<${Icon} name=${item.icon} />`}<span>${item.label}</span>`;
  const kind = item.kind ?? "";
  if (item.href) {
    return html`<a role="menuitem" class=${kind} href=${item.href} download onClick=${() => close()}>${inside}</a>`;
  }
  const onClick = () => {
    close();
    item.run();
  };
  return html`<button type="button" role="menuitem" class=${kind} onClick=${onClick}>${inside}</button>`;
}
