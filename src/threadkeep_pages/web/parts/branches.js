// The tree of a conversation in a dialog: every branch, and a way to look at it.

import { conversationPath, get } from "../api.js";
import { html, useEffect, useState } from "../preact.js";
import { TreeView } from "../render/tree.js";
import { dialog } from "../views.js";
import { Dialog } from "./dialog.js";
import { t } from "../language.js";

export function Branches({ conversation }) {
  const [tree, setTree] = useState(null);
  const [problem, setProblem] = useState("");
  const close = () => (dialog.value = null);
  useEffect(() => {
    get(conversationPath(conversation.id, "/tree")).then(setTree, (error) => setProblem(error.message));
  }, [conversation]);
  const choose = (branch) => {
    close();
    conversation.look(typeof branch === "object" ? branch.head : branch);
  };
  return html`<${Dialog} title=${t("branches")} onClose=${close} class="wide" testid="tree">
    <p class="muted">${t("branchesHelp")}</p>
    ${problem && html`<p class="danger">${problem}</p>`}
    ${tree && html`<${TreeView} tree=${tree} onChoose=${choose} />`}
  <//>`;
}
