// Which addresses a reader may be sent to. Anything else that claims to be a link is shown as text.

import { ROOT, isAlone } from "../router.js";

const SCHEMES = new Set(["http:", "https:", "mailto:"]);

/** Return the address in its canonical form, or null where it is none that may be followed. */
export function safeUrl(text) {
  if (typeof text !== "string") return null;
  try {
    const url = new URL(ownFile(text) ?? text.trim());
    return SCHEMES.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** Return the address of a file of ours, which a text may name without our host (`/v1/files/ID`); null where it is none. */
export function ownFile(text) {
  if (isAlone) return null;
  const without = (address, part) => (address.startsWith(part) ? address.slice(part.length) : address);
  const path = [location.origin, ROOT].reduce(without, text.trim());
  return /^\/v1\/files\/[\w-]+$/.test(path) ? `${location.origin}${ROOT}${path}` : null;
}

/** What every link to somewhere else carries: its own tab, no way back into this one, no word of where it came from. */
export const AWAY = { target: "_blank", rel: "noopener noreferrer nofollow" };
