// Images that a text refers to. A file of ours is shown at once. Of an address elsewhere nothing is asked before somebody wants
// to see it: whoever serves the image learns by that that the answer is read. The policy of the page lets no foreign image in
// at all; it is shown in a frame whose policy allows images and nothing else, without a script, a referrer or (in Chromium)
// cookies.

import { t } from "../language.js";
import { ROOT, isAlone } from "../router.js";
import { ownFile } from "./links.js";

const LARGEST = 480;
/** @type {Set<string>} */
const wanted = new Set(); // addresses elsewhere that somebody has asked for: drawn anew, their images are there again

/** Show the image in place of its link, or put a button beside the link, which shows it; a file of its own loads nothing. */
export function dressImage(link) {
  if (isAlone) return;
  const box = document.createElement("span");
  box.className = "tk-image";
  box.dataset.image = link.href; // `morph.js` lets it be: what was loaded stays while the text grows
  link.replaceWith(box);
  if (ownFile(link.href)) box.append(picture(link));
  else {
    box.append(link, showButton());
    if (wanted.has(link.href)) show(box);
  }
}

/** Return an image of ours, which `parts/attached.js` shows full size; what is none is a link to the file. */
function picture(link) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "picture";
  button.title = link.textContent;
  button.ariaLabel = t("showFullSize", { name: link.textContent });
  const image = document.createElement("img");
  image.loading = "lazy";
  image.decoding = "async";
  image.alt = link.textContent;
  image.addEventListener("error", () => button.replaceWith(link));
  image.src = link.href;
  button.append(image);
  return button;
}

function showButton() {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tk-copy";
  button.textContent = t("showImage");
  button.title = t("showImageHint");
  // What is on the page may have been changed since: the link is looked for when it is needed.
  button.addEventListener("click", () => show(/** @type {HTMLElement} */ (button.parentElement)));
  return button;
}

function show(box) {
  const link = box.querySelector("a");
  wanted.add(link.href);
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
