// Which addresses a reader may be sent to. Anything else that claims to be a link is shown as text.

const SCHEMES = new Set(["http:", "https:", "mailto:"]);

/** Return the address in its canonical form, or null where it is none that may be followed. */
export function safeUrl(text) {
  if (typeof text !== "string") return null;
  try {
    const url = new URL(text.trim());
    return SCHEMES.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** What every link to somewhere else carries: its own tab, no way back into this one, no word of where it came from. */
export const AWAY = { target: "_blank", rel: "noopener noreferrer nofollow" };
