// The models that can be chosen in a list, by provider.

import { html } from "../preact.js";
import { isScripted, models } from "../session.js";
import { t } from "../language.js";

/**
 * The models that the server offers, and the one that is chosen, by the name of their provider.
 * @param {string} chosen
 * @param {string} [text] only those that have this in their name
 */
export function modelGroups(chosen, text = "") {
  const all = [...new Set([...models.value.data, ...(chosen ? [chosen] : [])])];
  /** @type {Map<string, string[]>} */
  const groups = new Map();
  for (const name of all.filter((one) => one.toLowerCase().includes(text.trim().toLowerCase()))) {
    const provider = name.includes(":") ? name.split(":")[0] : "";
    groups.set(provider, [...(groups.get(provider) ?? []), name]);
  }
  return { all, groups: [...groups] };
}

/** The name of a model beside that of its provider. */
export const shortOf = (provider, name) => (provider ? name.slice(provider.length + 1) : name);

export function ModelOptions({ chosen, usual }) {
  const option = (name, label) => html`<option key=${name} value=${name} selected=${name === chosen}>${label}</option>`;
  const label = (name) => (isScripted(name) ? t("demoScripted") : name);
  return html`${option("", usual ? label(usual) : t("default"))}
    ${modelGroups(chosen).groups.map(([provider, names]) => {
      const listed = names.filter((name) => name !== usual || name === chosen);
      const options = listed.map((name) => option(name, isScripted(name) ? label(name) : shortOf(provider, name)));
      return provider && options.length
        ? html`<optgroup key=${provider} label=${provider}>${options}</optgroup>`
        : options;
    })}`;
}
