// Your data: everything that is yours as a file, and a file taken in.

import { call } from "../api.js";
import { reload } from "../conversations.js";
import { announce, complain } from "../notices.js";
import { html, useState } from "../preact.js";
import { ROOT } from "../router.js";
import { dialog } from "../views.js";
import { Dialog } from "./dialog.js";

const FORMATS = [
  ["jsonl", "Everything, as JSON Lines: it can be imported again"],
  ["zip", "A ZIP file with one document for each conversation"],
];

export function YourData() {
  const [told, setTold] = useState("");
  const take = async (event) => {
    const field = event.currentTarget;
    setTold("Importing …");
    try {
      const report = await call("POST", "/v1/import", { file: field.files[0] });
      const text = `Imported: ${report.added} new, ${report.unchanged} known, ${report.failed} not readable.`;
      setTold([text, ...report.problems.map((problem) => problem.detail)].join(" "));
      announce(text);
      await reload();
    } catch (error) {
      setTold("");
      complain(error);
    }
    field.value = "";
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
  <//>`;
}
