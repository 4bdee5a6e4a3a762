// An image that an answer refers to, at an address elsewhere. Nothing is asked of that address before somebody wants to see it:
// whoever serves the image learns by that that the answer is read. The policy of the page lets no foreign image in at all;
// it is shown in a frame whose policy allows images and nothing else, without a script, a referrer or (in Chromium) cookies.

import { t } from "../language.js";
import { ROOT } from "../router.js";

const LARGEST = 480;

/** Put a button beside the link to an image, which shows it in place. */
export function dressImage(link) {
  const box = document.createElement("span");
  box.className = "tk-remote";
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tk-copy";
  button.textContent = t("showImage");
  button.title = t("showImageHint");
  // What is on the page may have been changed since: the link is looked for when it is needed.
  button.addEventListener("click", () => show(/** @type {HTMLElement} */ (button.parentElement)));
  link.replaceWith(box);
  box.append(link, button);
}

function show(box) {
  const link = box.querySelector("a");
  const button = box.querySelector("button");
  const frame = document.createElement("iframe");
  frame.title = link.textContent;
  frame.setAttribute("sandbox", "allow-same-origin"); // this page writes into it; nothing runs there
  frame.setAttribute("credentialless", "");
  frame.referrerPolicy = "no-referrer";
  frame.src = `${ROOT}/static/image.html`;
  frame.addEventListener("load", () => fill(frame, link), { once: true });
  button.replaceWith(frame);
}

function fill(frame, link) {
  const inside = frame.contentDocument;
  if (!inside) return fail(frame); // not even the frame came
  const image = inside.createElement("img");
  image.alt = link.textContent;
  image.addEventListener("load", () => {
    const scale = Math.min(1, LARGEST / image.naturalHeight);
    frame.style.aspectRatio = `${image.naturalWidth} / ${image.naturalHeight}`;
    frame.style.width = `${image.naturalWidth * scale}px`;
    frame.dataset.state = "shown";
  });
  image.addEventListener("error", () => fail(frame));
  inside.body.style.margin = "0";
  image.style.cssText = "display: block; width: 100%";
  image.src = link.href;
  inside.body.append(image);
}

function fail(frame) {
  const told = document.createElement("small");
  told.className = "danger";
  told.setAttribute("role", "status");
  told.textContent = t("imageFailed");
  frame.replaceWith(told);
}
