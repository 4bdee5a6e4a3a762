// Mounts the page.

import * as conversations from "./conversations.js";
import * as filing from "./filing.js";
import * as focus from "./focus.js";
import * as keyboard from "./keyboard.js";
import * as layout from "./layout.js";
import { loadLanguage } from "./language.js";
import * as outbox from "./outbox.js";
import { effect, html, render } from "./preact.js";
import { ROOT } from "./router.js";
import { load, phase } from "./session.js";
import { Shell } from "./parts/shell.js";
import { persist } from "./tabs.js";
import { applyTheme } from "./theme.js";
import * as prompts from "./prompts.js";
import * as ready from "./ready.js";
import { sweep } from "./files.js";
import * as speech from "./speech.js";
import * as temporary from "./temporary.js";
import * as trial from "./trial.js";
import * as unread from "./unread.js";
import * as views from "./views.js";

applyTheme();
const texts = loadLanguage();
texts.then(() => render(html`<${Shell} />`, /** @type {HTMLElement} */ (document.getElementById("app"))));

// Everything else belongs to a person: it begins when it is known who that is.
let isStarted = false;
effect(() => {
  if (phase.value !== "ready" || isStarted) return;
  isStarted = true;
  applyTheme();
  unread.start();
  layout.start();
  outbox.start();
  conversations.start();
  filing.start();
  prompts.start();
  views.start();
  temporary.start();
  keyboard.start();
  focus.start();
  trial.start();
  ready.start();
  speech.start();
  sweep();
  persist();
});
texts.then(load);

if ("serviceWorker" in navigator) navigator.serviceWorker.register(`${ROOT}/sw.js`).catch(() => {});
