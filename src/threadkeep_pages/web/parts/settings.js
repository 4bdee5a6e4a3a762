// The settings of a conversation, or of the next one on the first screen: who answers, with which model and how, and under
// which instructions. Nothing changes before it is saved.

import { changeMetadata } from "../metadata.js";
import { complain } from "../notices.js";
import { html, useEffect, useState } from "../preact.js";
import { money, usageOf } from "../render/usage.js";
import { assistantNamed, assistants, isScripted, modelOf, nameOf, readModels } from "../session.js";
import { assistant, dialog, wishes } from "../views.js";
import { Button } from "./actions.js";
import { modelGroups, shortOf } from "./models.js";
import { Sheet } from "./sheet.js";
import { t } from "../language.js";

const MANY = 8; // models, from which on they can be searched
/** @type {{ name: string, label: TextKey, hint: TextKey, min: number, max: number, step: number }[]} */
const NUMBERS = [
  { name: "temperature", label: "temperature", hint: "temperatureHint", min: 0, max: 2, step: 0.1 },
  { name: "top_p", label: "topP", hint: "topPHint", min: 0.01, max: 1, step: 0.01 },
  { name: "max_tokens", label: "longestAnswer", hint: "inTokens", min: 1, max: 10_000_000, step: 1 },
];
const EFFORTS = ["", "none", "minimal", "low", "medium", "high", "xhigh", "max"];

export function Settings({ conversation }) {
  const about = conversation?.about.value;
  const before = about
    ? { assistant: assistantNamed(about.assistant)?.name, model: modelOf(about, assistantNamed(about.assistant)) }
    : { assistant: assistantNamed(assistant.value)?.name, model: wishes.value.model ?? "" };
  const [now, setNow] = useState({
    ...before,
    system: about ? (about.system ?? "") : (wishes.value.system ?? ""),
    options: (about ? about.metadata?.model_options : wishes.value.options) ?? {},
  });
  useEffect(() => {
    readModels().catch(() => {});
  }, []);
  const set = (name) => (event) => setNow({ ...now, [name]: event.currentTarget.value });
  const close = () => (dialog.value = null);
  const save = (event) => {
    event.preventDefault();
    close();
    if (about) saveChanges(conversation, before, now);
    else {
      assistant.value = now.assistant;
      wishes.value = {
        ...wishes.value,
        model: now.model || undefined,
        system: now.system.trim() || undefined,
        options: now.options,
      };
    }
  };
  const answers = now.model || modelOf(null, assistantNamed(now.assistant));
  const foot = html`<${Button} label=${t("cancel")} onClick=${close} /><${Button} type="submit" label=${t("save")} class="button primary" />`;
  return html`<${Sheet} name="settings" title=${t("settings")} onSubmit=${save} foot=${foot}>
    <div class="field"><label for="set-assistant">${t("assistant")}</label>
      <select id="set-assistant" value=${now.assistant} onChange=${set("assistant")}>
        ${assistants.value.map((one) => html`<option value=${one.name} selected=${one.name === now.assistant}>${nameOf(one)}</option>`)}
      </select>
      <small class="muted">${contextOf(assistantNamed(now.assistant))}</small>
    </div>
    <${ModelList} chosen=${now.model} isNew=${!about} assistant=${assistantNamed(now.assistant)} onChoose=${(model) => setNow({ ...now, model })} />
    <${Instructions} about=${about} text=${now.system} onInput=${set("system")} />
    ${!isScripted(answers) && html`<${Options} options=${now.options} onChange=${(options) => setNow({ ...now, options })} />`}
    ${about && html`<${Spent} conversation=${conversation} />`}
  <//>`;
}

// They are given when a conversation begins: after that they are a text, and no field.
function Instructions({ about, text, onInput }) {
  if (about)
    return html`<section class="field" aria-labelledby="instructions"><h3 id="instructions">${t("instructions")}</h3>
      ${text ? html`<p class="fixed" dir="auto" data-testid="instructions">${text}</p>` : html`<p class="muted">${t("noInstructions")}</p>`}
      <small class="muted">${t("instructionsHelp")}</small>
    </section>`;
  return html`<div class="field"><label for="set-system">${t("instructions")}</label>
    <textarea id="set-system" rows="4" dir="auto" value=${text} onInput=${onInput} placeholder=${t("instructionsHint")} />
  </div>`;
}

// Tells the server what was changed, and nothing else.
function saveChanges(conversation, before, now) {
  const fields = {};
  if (now.assistant !== before.assistant) fields.assistant = now.assistant;
  if (now.model !== before.model) fields.model = now.model;
  const options = conversation.about.value.metadata?.model_options ?? {};
  if (JSON.stringify(now.options) === JSON.stringify(options)) return conversation.change(fields);
  return changeMetadata(conversation, (all) => ({ ...all, model_options: now.options }), fields).catch(complain);
}

function contextOf(one) {
  const { window, size } = one?.context ?? {};
  if (window === "newest") return t("seesNewest", { n: size });
  if (window === "budget") return t("seesTokens", { n: size });
  return t("seesAll");
}

// All models that the server offers, by provider.
function ModelList({ chosen, isNew, assistant: who, onChoose }) {
  const [text, setText] = useState("");
  const { all, groups } = modelGroups(chosen, text);
  const option = (name, label) =>
    html`<label class="radio" key=${name}>
    <input type="radio" name="model" value=${name} checked=${name === chosen} onChange=${() => onChoose(name)} />
    <span>${label}</span>
    ${isScripted(name) && html` <span class="muted">${t("scriptedHelp")}</span>`}
  </label>`;
  return html`<fieldset class="field">
    <legend>${t("model")}</legend>
    ${
      all.length > MANY &&
      html`<input type="search" placeholder=${t("searchModels")} aria-label=${t("searchModels")} value=${text}
      onInput=${(event) => setText(event.currentTarget.value)} />`
    }
    <div class="models" role="group" aria-label=${t("models")} tabindex="-1">
      ${isNew && !text && option("", t("asAssistant", { model: modelOf(null, who) ?? "" }))}
      ${groups.map(
        ([provider, names]) =>
          html`<div key=${provider}>
        ${provider && html`<h3>${provider}</h3>`}
        ${names.map((name) => option(name, shortOf(provider, name)))}
      </div>`,
      )}
      ${!groups.length && html`<p class="muted">${t("noSuchModel")}</p>`}
    </div>
  </fieldset>`;
}

// How the model is called; what is left empty is the provider's default.
function Options({ options, onChange }) {
  const put = (name, value) => {
    const { [name]: _, ...others } = options;
    onChange(value === "" ? others : { ...others, [name]: value });
  };
  return html`<fieldset class="options">
    <legend>${t("howItAnswers")}</legend>
    ${NUMBERS.map(
      ({ name, label, hint, ...limits }) =>
        html`<div class="field" key=${name}><label for=${name}>${t(label)}</label>
      <input id=${name} type="number" ...${limits} value=${options[name] ?? ""} placeholder=${t("default")} aria-describedby=${`${name}-hint`}
        onInput=${({ currentTarget: field }) => field.validity.valid && put(name, field.value && Number(field.value))} />
      <small id=${`${name}-hint`} class="muted">${t(hint)}</small>
    </div>`,
    )}
    <div class="field"><label for="reasoning_effort">${t("reasoning")}</label>
      <select id="reasoning_effort" onChange=${(event) => put("reasoning_effort", event.currentTarget.value)}>
        ${EFFORTS.map((effort) => html`<option value=${effort} selected=${effort === (options.reasoning_effort ?? "")}>${effort ? t(/** @type {TextKey} */ (`effort_${effort}`)) : t("default")}</option>`)}
      </select>
      <small class="muted">${t("whereItHas")}</small>
    </div>
  </fieldset>`;
}

// How many tokens the answers that are loaded took.
function Spent({ conversation }) {
  const usage = usageOf(conversation.messages.value);
  if (!usage) return null;
  const isWhole = conversation.before.value === null && conversation.after.value === null;
  return html`<p class="muted" data-testid="spent">${t(isWhole ? "tokensBranch" : "tokensLoaded", { read: usage.input_tokens, written: usage.output_tokens })}${usage.cost && ` ${t("costSoFar", { cost: money(usage.cost) })}`}</p>`;
}
