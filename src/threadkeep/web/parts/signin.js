// Signing in with a key, where the server asks for one.

import { html, useRef, useState } from "../preact.js";
import { ROOT } from "../router.js";
import { phase, signIn, wasSignedIn } from "../session.js";

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
      <h1>Sign in to Threadkeep</h1>
      ${(phase.value === "ready" || wasSignedIn.value) && html`<p role="alert" data-testid="signed-out">You were signed out: your key was revoked, or it has expired. What you wrote and did not send is kept in this browser.</p>`}
      <label for="key">Your key</label>
      <input id="key" ref=${field} type="password" autocomplete="current-password" placeholder="tk_…" spellcheck="false"
        aria-describedby="key-help" aria-invalid=${Boolean(problem)} />
      ${problem && html`<p class="danger" role="alert">${problem}</p>`}
      <button type="submit" class="button primary wide" disabled=${isBusy}>Sign in</button>
      <p class="muted" id="key-help">Whoever runs this server can make you one. It is not kept in this browser, which gets a login of its own for it.</p>
    </form>
  </main>`;
}
