// Your data: everything that is yours as a file, a file taken in, and everything deleted for good.

import { call } from "../api.js";
import { reload } from "../conversations.js";
import { announce, complain } from "../notices.js";
import { html, useState } from "../preact.js";
import { ROOT } from "../router.js";
import { forget, me, signOut } from "../session.js";
import { dialog } from "../views.js";
import { Button } from "./actions.js";
import { Dialog } from "./dialog.js";

const FORMATS = [
  ["jsonl", "Everything, as JSON Lines: it can be imported again"],
  ["zip", "A ZIP file with one document for each conversation"],
];

export function YourData() {
  const [told, setTold] = useState("");
  const take = async (event) => {
    const field = event.currentTarget;
    const file = field.files[0];
    field.value = ""; // at once: the same file chosen again would be no change
    setTold("Importing …");
    try {
      const report = await call("POST", "/v1/import", { file });
      const text = `Imported: ${report.added} new, ${report.unchanged} known, ${report.failed} not readable.`;
      setTold([text, ...report.problems.map((problem) => problem.detail)].join(" "));
      announce(text);
      await reload();
    } catch (error) {
      setTold("");
      complain(error);
    }
  };
  return html`<${Dialog} title="Your data" onClose=${() => (dialog.value = null)} testid="your-data">
    <h3>Export</h3>
    <ul class="choices">${FORMATS.map(
      ([format, label]) =>
        html`<li key=${format}><a class="choice" href=${`${ROOT}/v1/export?format=${format}`} download>${label}</a></li>`,
    )}</ul>
    <h3><label for="import">Import</label></h3>
    <input id="import" type="file" onChange=${take} aria-describedby="import-help" />
    <p class="muted" id="import-help">A file of Threadkeep, ChatGPT, Claude, LibreChat or another program that is known here. What is there already is not doubled.</p>
    ${told && html`<p role="status" data-testid="imported">${told}</p>`}
    <${DeleteEverything} />
  <//>`;
}

// Asks twice, and shows the receipt until it was read: nothing is left of the person then, here neither.
function DeleteEverything() {
  const [step, setStep] = useState("");
  const [receipt, setReceipt] = useState(null);
  const erase = async () => {
    setStep("working");
    try {
      setReceipt(await call("DELETE", `/v1/users/${encodeURIComponent(me.value?.user ?? "")}`));
      announce("Everything was deleted.");
    } catch (error) {
      setStep("");
      complain(error);
    }
  };
  if (receipt)
    return html`<h3>Everything was deleted</h3>
      <p>Keep this receipt if you want to prove it. It holds nothing that you wrote.</p>
      <pre tabindex="0" data-testid="receipt">${JSON.stringify(receipt, null, 2)}</pre>
      <p><${Button} label="Close and leave" onClick=${() => signOut().catch(forget)} /></p>`;
  return html`<h3>Delete everything</h3>
    <p class="muted">All your conversations, those in the archive and those deleted lately too, your keys and this sign-in.
      Nobody can bring them back. Backups that others keep of this server are not reached.</p>
    ${
      step === ""
        ? html`<p><${Button} label="Delete everything …" class="button danger" onClick=${() => setStep("asked")} /></p>`
        : html`<p role="alert">Delete all of it, for good?</p>
          <p><${Button} label="Yes, delete everything" class="button danger" disabled=${step === "working"} onClick=${erase} />
          <${Button} label="Keep it" disabled=${step === "working"} onClick=${() => setStep("")} /></p>`
    }`;
}
