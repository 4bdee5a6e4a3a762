// Taking away: a message is copied, or a conversation as Markdown, as `curl` commands or as a Python program that says the
// same again; or the whole of it is printed.

import { conversationPath, get, getText } from "./api.js";
import { MOST } from "./client/branch.js";
import { announce, complain, note } from "./notices.js";
import { ROOT } from "./router.js";
import { isSignedIn } from "./session.js";
import { t } from "./language.js";

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    note(t("copied"), { seconds: 2 });
    announce(t("copied"));
  } catch {
    complain(new Error(t("cannotCopy")));
  }
}

export async function copyMarkdown(conversation) {
  const path = conversationPath(conversation.id, "/export", {
    format: "markdown",
    head: conversation.branch.value || null,
  });
  await copying(() => getText(path));
}

// Prints the whole branch that is shown, when all of it is drawn.
export async function printAll(conversation) {
  try {
    await conversation.loadAll();
    do await new Promise((resolve) => setTimeout(resolve, 100));
    while (document.querySelector("[aria-busy=true]"));
    await imagesThere();
    print();
    if (conversation.messages.value.length > MOST) await conversation.look();
  } catch (error) {
    complain(error);
  }
}

// Loads the images that were not in view.
async function imagesThere() {
  const images = [...document.querySelectorAll(".column img")].map((image) => /** @type {HTMLImageElement} */ (image));
  for (const image of images) image.loading = "eager";
  await Promise.all(images.map((image) => image.decode().catch(() => {}))); // one that cannot be shown is not waited for
}

export const copyCurl = (conversation) => copying(async () => curl(await saidIn(conversation)));
export const copyPython = (conversation) => copying(async () => python(await saidIn(conversation)));

async function copying(make) {
  try {
    await copyText(await make());
  } catch (error) {
    complain(error);
  }
}

// What the person said on the branch that is shown, from its beginning.
async function saidIn(conversation) {
  const said = [];
  let page = await get(conversationPath(conversation.id, "", { limit: 200, head: conversation.branch.value || null }));
  const { assistant, system, model } = page;
  for (;;) {
    said.unshift(
      ...page.messages.filter(({ role, content }) => role === "user" && content).map(({ content }) => content),
    );
    if (!page.before) return { body: without({ assistant, system, model }), said };
    page = await get(conversationPath(conversation.id, "", { limit: 200, before: page.before }));
  }
}

const without = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
const quoted = (value) => `'${JSON.stringify(value).replaceAll("'", "'\\''")}'`;

function curl({ body, said }) {
  const key = isSignedIn.value ? ` -H "Authorization: Bearer $THREADKEEP_KEY"` : "";
  const headers = `-H 'Content-Type: application/json'${key}`;
  const lines = [
    `URL=${location.origin}`,
    `CHAT=$URL$(curl -s $URL${ROOT}/v1/conversations ${headers} -d ${quoted(body)} -o /dev/null -w '%header{location}')`,
    ...said.map((content) => `curl -s $CHAT/messages ${headers} -d ${quoted({ content })}`),
  ];
  return `${lines.join("\n")}\n`;
}

function python({ body, said }) {
  const lines = [
    "import json",
    isSignedIn.value && "import os",
    "import urllib.request",
    "",
    `URL = ${JSON.stringify(location.origin + ROOT)}`,
    "HEADERS = {",
    '    "Content-Type": "application/json",',
    isSignedIn.value && `    "Authorization": f"Bearer {os.environ['THREADKEEP_KEY']}",`,
    "}",
    "",
    "",
    "def post(path, body):",
    "    request = urllib.request.Request(URL + path, json.dumps(body).encode(), HEADERS)",
    "    with urllib.request.urlopen(request) as answer:",
    "        return json.load(answer)",
    "",
    "",
    `conversation = post("/v1/conversations", json.loads(${JSON.stringify(JSON.stringify(body))}))["id"]`,
    `for content in json.loads(${JSON.stringify(JSON.stringify(said))}):`,
    '    answer = post(f"/v1/conversations/{conversation}/messages", {"content": content})',
    '    print("You:", content)',
    '    print("Assistant:", answer["message"]["content"])',
  ];
  return `${lines.filter((line) => line !== false).join("\n")}\n`;
}
