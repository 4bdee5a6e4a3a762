// Your data: everything that is yours as a file, a file taken in, and everything deleted for good.

import { call } from "../api.js";
import { reload } from "../conversations.js";
import { announce, complain } from "../notices.js";
import { html, useEffect, useState } from "../preact.js";
import { ROOT } from "../router.js";
import { forget, me, signOut } from "../session.js";
import { dialog, isLeaving } from "../views.js";
import { Button } from "./actions.js";
import { Dialog } from "./dialog.js";
import { SharedConversations, canShare } from "./share.js";
import { t } from "../language.js";

/** @type {[string, TextKey][]} */
const FORMATS = [
  ["zip", "exportZip"],
  ["jsonl", "exportJsonLines"],
];

export function YourData() {
  const [told, setTold] = useState("");
  const take = async (event) => {
    const field = event.currentTarget;
    const file = field.files[0];
    field.value = ""; // at once: the same file chosen again would be no change
    setTold(t("importing"));
    try {
      const report = await call("POST", "/v1/import", { file });
      const text = t("imported", report);
      setTold([text, ...report.problems.map((problem) => problem.detail)].join(" "));
      announce(text);
      await reload();
    } catch (error) {
      setTold("");
      complain(error);
    }
  };
  return html`<${Dialog} title=${t("yourData")} onClose=${() => (dialog.value = null)} testid="your-data">
    <h3>${t("export")}</h3>
    <ul class="choices">${FORMATS.map(
      ([format, label]) =>
        html`<li key=${format}><a class="choice" href=${`${ROOT}/v1/export?format=${format}`} download>${t(label)}</a></li>`,
    )}</ul>
    <h3 id="import-title">${t("import")}</h3>
    <p class="muted" id="import-help">${t("importHelp")}</p>
    <div class="file">
      <input id="import" type="file" class="visually-hidden" onChange=${take} aria-labelledby="import-title" aria-describedby="import-help" />
      <label class="button" for="import">${t("chooseFile")}</label>
    </div>
    ${told && html`<p role="status" data-testid="imported">${told}</p>`}
    ${canShare && html`<${SharedConversations} />`}
    <${DeleteEverything} />
  <//>`;
}

// Asks twice, and shows the receipt until it was read: nothing is left of the person then, here neither.
function DeleteEverything() {
  const [step, setStep] = useState("");
  const [receipt, setReceipt] = useState(null);
  useEffect(() => () => (isLeaving.value = false), []);
  const erase = async () => {
    setStep("working");
    isLeaving.value = true;
    try {
      setReceipt(await call("DELETE", `/v1/users/${encodeURIComponent(me.value?.user ?? "")}`));
      announce(t("everythingDeletedNow"));
    } catch (error) {
      isLeaving.value = false;
      setStep("");
      complain(error);
    }
  };
  if (receipt)
    return html`<h3>${t("everythingDeleted")}</h3>
      <p>${t("keepReceipt")}</p>
      <pre tabindex="0" data-testid="receipt">${JSON.stringify(receipt, null, 2)}</pre>
      <p><${Button} label=${t("closeAndLeave")} onClick=${() => signOut().catch(forget)} /></p>`;
  return html`<h3>${t("deleteEverything")}</h3>
    <p class="muted">${t("deleteEverythingHelp")}</p>
    ${
      step === ""
        ? html`<p><${Button} label=${t("deleteEverythingButton")} class="button danger" onClick=${() => setStep("asked")} /></p>`
        : html`<p role="alert">${t("deleteForGood")}</p>
          <p><${Button} label=${t("yesDelete")} class="button danger" disabled=${step === "working"} onClick=${erase} />
          <${Button} label=${t("keepIt")} disabled=${step === "working"} onClick=${() => setStep("")} /></p>`
    }`;
}
