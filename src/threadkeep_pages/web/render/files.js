// Files in messages: images, which open full size where somebody can show them, sounds to play, others as chips to download.
// A file of an exported conversation brings its own bytes, or is there with its name only.

import { number, t } from "../language.js";
import { html, useState } from "../preact.js";
import { ROOT } from "../router.js";
import { Icon } from "../parts/icon.js";

const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte"];
const LONGEST_NAME = 255;
const UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu; // among them what turns the direction around

/** @param {{ file: string, src?: string }} part */
export const addressOf = ({ file, src }) => src ?? `${ROOT}/v1/files/${encodeURIComponent(file)}`;

/** @param {Record<string, any>[] | undefined} parts */
export const filesIn = (parts) =>
  /** @type {FilePart[]} */ (
    (parts ?? []).filter(({ type }) => type === "image" || type === "audio" || type === "file")
  );

// The name of a file for people: nothing in it can make it look like another one.
/** @param {{ name?: string }} file */
export function nameOf({ name }) {
  const seen = (name || t("unnamedFile")).slice(0, LONGEST_NAME).replace(UNSEEN, "\ufffd");
  return name && name.length > LONGEST_NAME ? `${seen}…` : seen;
}

/** @param {number} size */
export function sizeOf(size) {
  const step = Math.min(Math.floor(Math.log2(Math.max(size, 1)) / 10), UNITS.length - 1);
  const value = size / 1024 ** step;
  return number(value, {
    style: "unit",
    unit: UNITS[step],
    unitDisplay: step ? "short" : "long",
    maximumFractionDigits: value < 10 ? 1 : 0,
  });
}

/**
 * The files of a stored message.
 * @param {{ parts: any[] | undefined, onShow?: (images: FilePart[], at: number) => void }} props
 */
export function Files({ parts, onShow }) {
  const [broken, setBroken] = useState(/** @type {string[]} */ ([]));
  const files = filesIn(parts);
  if (!files.length) return null;
  const images = files.filter((part) => part.type === "image" && addressOf(part) && !broken.includes(part.file));
  const sounds = files.filter((part) => part.type === "audio" && addressOf(part));
  const others = files.filter((part) => !images.includes(part) && !sounds.includes(part));
  const drawn = (part) =>
    html`<img src=${addressOf(part)} alt=${nameOf(part)} loading="lazy" decoding="async"
    onError=${() => setBroken((all) => [...all, part.file])} />`;
  return html`<div class="files" data-testid="files">
    ${images.map((part, at) =>
      onShow
        ? html`<button type="button" class="picture" key=${at} title=${nameOf(part)}
        aria-label=${t("showFullSize", { name: nameOf(part) })} onClick=${() => onShow(images, at)}>${drawn(part)}</button>`
        : html`<span class="picture" key=${at}>${drawn(part)}</span>`,
    )}
    ${sounds.map((part, at) => html`<figure class="sound" key=${`s${at}`}><figcaption dir="auto">${nameOf(part)}</figcaption><audio controls preload="none" src=${addressOf(part)} aria-label=${nameOf(part)} /></figure>`)}
    ${others.map((part, at) => html`<${Chip} key=${`f${at}`} part=${part} />`)}
  </div>`;
}

function Chip({ part }) {
  const inside = html`<${Icon} name="file" /><span class="name" dir="auto">${nameOf(part)}</span>
    ${part.size !== undefined && html`<small>${sizeOf(part.size)}</small>`}`;
  return addressOf(part)
    ? html`<a class="chip" href=${addressOf(part)} download=${nameOf(part)} title=${`${t("download")}: ${nameOf(part)}`}>${inside}</a>`
    : html`<span class="chip">${inside}</span>`;
}
