// Signing in with a key, where the server asks for one.

import { html, useRef, useState } from "../preact.js";
import { ROOT } from "../router.js";
import { hasFailed, phase, provider, signIn, wasSignedIn } from "../session.js";
import { t } from "../language.js";

export function SignIn() {
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  /** @type {{ current: HTMLInputElement }} */
  const field = useRef(null);
  const submit = async (event) => {
    event.preventDefault();
    const key = field.current.value.trim();
    if (!key) return;
    setBusy(true);
    try {
      await signIn(key);
    } catch (error) {
      setProblem(error.message);
      setBusy(false);
      field.current.select();
    }
  };
  return html`<main class="sign-in" id="main">
    <form onSubmit=${submit} data-testid="sign-in">
      <img src=${`${ROOT}/static/icon.svg`} alt="" width="44" height="44" />
      <h1>${t("signInTitle")}</h1>
      ${(phase.value === "ready" || wasSignedIn.value) && html`<p role="alert" data-testid="signed-out">${t("signedOut")}</p>`}
      ${hasFailed && html`<p class="danger" role="alert">${t("signInFailed")}</p>`}
      ${provider && html`<a class="button primary wide" href=${`${ROOT}/sign-in/start`}>${t("signInWith", { name: provider })}</a>`}
      <label for="key">${t("yourKey")}</label>
      <input id="key" ref=${field} type="password" autocomplete="current-password" placeholder="tk_…" spellcheck="false"
        aria-describedby="key-help" aria-invalid=${Boolean(problem)} />
      ${problem && html`<p class="danger" role="alert">${problem}</p>`}
      <button type="submit" class="button wide" data-first=${!provider} disabled=${isBusy}>${t("signIn")}</button>
      <p class="muted" id="key-help">${t("keyHelp")}</p>
    </form>
  </main>`;
}
