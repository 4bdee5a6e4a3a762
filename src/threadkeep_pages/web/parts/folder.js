// Which folder of the list a conversation is in: one that is there, or a new one.

import { file, folders } from "../filing.js";
import { html, useState } from "../preact.js";
import { filed } from "../views.js";
import { Button } from "./actions.js";
import { Dialog } from "./dialog.js";
import { inOrder, t } from "../language.js";

export function FolderChoice({ about }) {
  const [name, setName] = useState(about.folder);
  const known = folders().sort(inOrder);
  const now = about.folder;
  const close = () => (filed.value = null);
  const put = (folder) => {
    close();
    file(about.id, folder);
  };
  const submit = (event) => {
    event.preventDefault();
    put(name.trim());
  };
  return html`<${Dialog} title=${t("moveToFolder")} onClose=${close} testid="folder-dialog">
    <ul class="choices">
      ${known.map(
        (folder) =>
          html`<li key=${folder}><button type="button" class="choice" dir="auto" aria-pressed=${folder === now}
        onClick=${() => put(folder)}>${folder}</button></li>`,
      )}
    </ul>
    <form class="row" onSubmit=${submit}>
      <input aria-label=${t("folderName")} placeholder=${t("newFolder")} dir="auto" maxlength="80" value=${name}
        onInput=${(event) => setName(event.currentTarget.value)} />
      <${Button} type="submit" label=${t("move")} class="button primary" disabled=${!name.trim()} />
    </form>
    ${now && html`<${Button} label=${t("takeOut")} onClick=${() => put("")} />`}
  <//>`;
}
