// Keeps the focus near where a person is: when the element that has it goes away (Stop, Allow, a field that was sent), what
// stood around it gets it, and not the beginning of the page.

/** @type {Element[]} the element that has the focus, and everything around it */
let path = [];

export function start() {
  addEventListener("focusin", ({ target }) => {
    path = [];
    for (let one = /** @type {Element | null} */ (target); one; one = one.parentElement) path.push(one);
  });
  new MutationObserver(keepNear).observe(document.body, { childList: true, subtree: true });
}

function keepNear() {
  if (path[0]?.isConnected !== false || document.activeElement !== document.body) return;
  for (const one of path) {
    if (!one.isConnected) continue;
    const near = one.matches("form, details") ? firstIn(one) : one.hasAttribute("tabindex") ? one : null;
    if (!near) continue;
    // A field would bring up the keyboard of a phone.
    if (!near.matches("textarea") || !matchMedia("(pointer: coarse)").matches) {
      /** @type {HTMLElement} */ (near).focus({ preventScroll: true });
    }
    return;
  }
}

// What somebody would go on with: the field before the buttons beside it.
const firstIn = (box) => box.querySelector("summary, textarea") ?? box.querySelector("button");
