// Keeps the focus near where a person is: when the element that has it goes away (Stop, Allow, a field that was sent), what
// stood around it gets it, and not the beginning of the page.

export const messages = () => /** @type {HTMLElement[]} */ ([...document.querySelectorAll(".scroll [data-seq]")]);

// Where what is typed goes: the message that is being edited, or the field below.
export const field = () =>
  /** @type {HTMLElement | null} */ (
    document.querySelector(".editing textarea") ?? document.getElementById("composer")
  );

// After something was asked, the next words are for the field; on a phone it would bring up the keyboard.
export function toField() {
  if (!matchMedia("(pointer: coarse)").matches) document.getElementById("composer")?.focus({ preventScroll: true });
}

// After a person has decided about a call: to the next one that waits, or else to the field.
export function toNext() {
  const next = /** @type {HTMLElement | null} */ (document.querySelector(".approval button:enabled"));
  if (next) next.focus();
  else toField();
}

/** @type {HTMLElement | null} */
let selected = null;
let place = -1; // where it stands among all

// The message that a person has chosen by a key, while it has the focus. A click or the page itself chooses none.
export const chosen = () => (document.activeElement === selected ? selected : null);

// Whether a person went there by keys and has clicked nothing since.
export const isByKeys = () => selected !== null;

/** @param {HTMLElement} message */
export function choose(message) {
  message.focus({ preventScroll: true });
  selected = message;
  place = messages().indexOf(message);
}

/** Leads to a message that takes the place of another; it is chosen if that was. @param {HTMLElement} message */
export function lead(message) {
  if (selected && path[0] === selected) choose(message);
  else message.focus({ preventScroll: true });
}

/** @type {Element[]} the element that has the focus, and everything around it */
let path = [];

export function start() {
  addEventListener("focusin", ({ target }) => {
    path = [];
    for (let one = /** @type {Element | null} */ (target); one; one = one.parentElement) path.push(one);
  });
  addEventListener("pointerdown", () => (selected = null));
  new MutationObserver(keepNear).observe(document.body, { childList: true, subtree: true });
}

function keepNear() {
  if (path[0]?.isConnected !== false || document.activeElement !== document.body) return;
  // Another version has taken the place of a chosen message.
  const other = selected && path[0] === selected && messages().at(Math.min(place, messages().length - 1));
  if (other) return choose(other);
  for (const one of path) {
    // A message is chosen by a person only, because single keys act on it.
    if (!one.isConnected || one.matches("[data-seq]")) continue;
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
