// The images of messages, full size. And the files of a message that is being written, or on its way: how far each has come, what is wrong with it, and a way to take it out again.

import { bytesOf, progress } from "../files.js";
import { number, t } from "../language.js";
import { html, useEffect, useState } from "../preact.js";
import { Files as Drawn, addressOf, nameOf, sizeOf } from "../render/files.js";
import { dialog, viewed } from "../views.js";
import { Dialog } from "./dialog.js";
import { Icon, IconButton } from "./icon.js";

/** The files of a stored message; an image opens full size. */
export const Files = ({ parts }) => html`<${Drawn} parts=${parts} onShow=${showFull} />`;

function showFull(images, at) {
  viewed.value = { images, at };
  dialog.value = "image";
}

/** Shows full size what was pressed, if it is an image that the Markdown of a message drew. */
export function showDrawn({ target }) {
  const pressed = target.closest(".tk-image > .picture");
  if (!pressed) return;
  const drawn = [...pressed.closest("article").querySelectorAll(".tk-image > .picture")];
  const images = drawn.map(({ firstChild: { alt, src } }) => ({
    file: src.slice(src.lastIndexOf("/") + 1),
    name: alt,
  }));
  showFull(images, drawn.indexOf(pressed));
}

/** An image as large as the window allows; with the arrow keys, the others of its message. */
export function Viewer() {
  const { images, at } = viewed.value;
  const part = images[at];
  const go = (by) => {
    if (images[at + by]) viewed.value = { images, at: at + by };
  };
  useEffect(() => {
    const onKeyDown = ({ key }) => go({ ArrowLeft: -1, ArrowRight: 1 }[key] ?? images.length);
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [viewed.value]);
  return html`<${Dialog} title=${nameOf(part)} onClose=${() => (dialog.value = null)} class="viewer" testid="viewer">
    <div class="view">
      <img src=${addressOf(part)} alt=${nameOf(part)} />
      <p>
        ${images.length > 1 && html`<${IconButton} name="left" label=${t("previousImage")} disabled=${at === 0} onClick=${() => go(-1)} />`}
        ${images.length > 1 && html`<span>${number(at + 1)}/${number(images.length)}</span>`}
        ${images.length > 1 && html`<${IconButton} name="right" label=${t("nextImage")} disabled=${at === images.length - 1} onClick=${() => go(1)} />`}
        <a href=${addressOf(part)} download=${nameOf(part)}>${t("download")}</a>
      </p>
    </div>
  <//>`;
}

/**
 * Files that were attached and are not in a stored message yet.
 * @param {{ list: Attached[] | undefined, onRemove?: (one: Attached) => void, onRetry?: (one: Attached) => void }} props
 */
export function Attached({ list, onRemove, onRetry }) {
  if (!list?.length) return null;
  return html`<ul class="attached" aria-label=${t("attachedFiles")} data-testid="attached">
    ${list.map((one) => html`<${Chip} key=${one.key} one=${one} onRemove=${onRemove} onRetry=${onRetry} />`)}
  </ul>`;
}

function Chip({ one, onRemove, onRetry }) {
  const share = progress.value[one.key];
  const state = one.problem ? "wrong" : one.part ? "there" : share === undefined ? "waiting" : "sending";
  const percent = number(share ?? 0, { style: "percent" });
  const told = {
    wrong: one.problem,
    there: sizeOf(one.size),
    waiting: t("uploadedLater"),
    sending: t("uploaded", { share: percent }),
  }[state];
  return html`<li class="chip" data-state=${state}>
    <${Thumb} one=${one} />
    <span class="name" dir="auto" title=${nameOf(one)}>${nameOf(one)}</span>
    <small class=${state === "wrong" ? "danger" : "muted"}>${told}${
      onRetry &&
      one.mayPass &&
      html` <button type="button" class="link" onClick=${() => onRetry(one)}>${t("tryAgain")}</button>`
    }</small>
    ${state === "sending" && html`<progress max="1" value=${share} aria-label=${nameOf(one)} />`}
    ${onRemove && html`<${IconButton} name="close" label=${t("removeFile", { name: nameOf(one) })} onClick=${(event) => remove(event, () => onRemove(one))} />`}
  </li>`;
}

// Whoever removes one file after the other with the keyboard stays among them; after the last one, writing goes on.
function remove({ currentTarget }, run) {
  const chip = currentTarget.closest("li");
  const next = (chip.nextElementSibling ?? chip.previousElementSibling)?.querySelector(".icon-button");
  const field = chip.closest("article, .composer-box").querySelector("textarea");
  run();
  if (next) next.focus();
  else if (!matchMedia("(pointer: coarse)").matches) field.focus();
}

function Thumb({ one }) {
  const [url, setUrl] = useState("");
  const isImage = (one.part?.media_type ?? one.media_type).startsWith("image/");
  useEffect(() => {
    let made = "";
    let isHere = isImage;
    const show = async () => {
      const blob = await bytesOf(one.key);
      if (blob && isHere) made = URL.createObjectURL(blob);
      if (isHere) setUrl(made || (one.part ? addressOf(one.part) : ""));
    };
    show();
    return () => {
      isHere = false;
      URL.revokeObjectURL(made);
    };
  }, [one.key]);
  return url ? html`<img src=${url} alt="" onError=${() => setUrl("")} />` : html`<${Icon} name="file" />`;
}
