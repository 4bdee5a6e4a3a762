// Copying text for the reader, and the small button that does it.

import { t } from "../language.js";

const SHOWN_FOR = 1600;

/** Put text on the clipboard; where a page without HTTPS may not, by way of a selection. Resolves to whether it is. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

function copySelected(text) {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "tk-offscreen";
  document.body.append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  return isDone;
}

/** Return a button that copies what `read` gives when it is pressed, and says so. */
export function copyButton(read, label = t("copy")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tk-copy";
  button.textContent = label;
  button.addEventListener("click", async () => {
    button.textContent = (await copyText(read(button))) ? t("copiedShort") : t("notCopied");
    setTimeout(() => (button.textContent = label), SHOWN_FOR);
  });
  return button;
}
