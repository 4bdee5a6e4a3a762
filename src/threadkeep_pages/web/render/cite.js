// Where statements come from: a numbered list of sources. Only addresses that are safe to follow become links.

import { html } from "../preact.js";
import { AWAY, safeUrl } from "./links.js";
import { textOf, wordsOf } from "./value.js";
import { t } from "../language.js";

/** Citations {source, title?, url?, text?} that follow one another. */
export function Citations({ blocks }) {
  return html`<div class="tk-cites" role="group" aria-label=${t("sources")}>
    <p class="tk-label">${blocks.length > 1 ? t("sources") : t("source")}</p>
    <ol>
      ${blocks.map((block) => html`<li dir="auto"><${Citation} block=${block} /></li>`)}
    </ol>
  </div>`;
}

function Citation({ block }) {
  const source = textOf(block.source);
  const title = wordsOf(block.title) || source || t("unnamedSource");
  const url = safeUrl(block.url) ?? safeUrl(source);
  const name = url ? html`<a href=${url} ...${AWAY}>${title}</a>` : html`<span class="tk-cite-title">${title}</span>`;
  return html`
    ${name}
    ${source && source !== title && html`<span class="tk-cite-source"> ${source}</span>`}
    ${wordsOf(block.text) && html`<blockquote dir="auto">${block.text}</blockquote>`}
  `;
}
