// Asks the server how it is, and shows the answer. It writes only when something changed, so that a screen reader
// announces changes and nothing else.

const INTERVAL = 5000;
const PATIENCE = 4000;

const shown = {
  ready: { server: ["good", "answers"], store: ["good", "answers"] },
  failing: { server: ["good", "answers"], store: ["bad", "does not answer"] },
  away: { server: ["bad", "cannot be reached"], store: ["unknown", "not known"] },
};

async function ask() {
  try {
    const answer = await fetch("/health/ready", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    if (answer.ok) return ["ready", ""];
    const problem = await answer.json();
    return ["failing", problem.detail ?? ""];
  } catch {
    return ["away", ""];
  }
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function show(health, detail) {
  for (const [id, [state, text]] of Object.entries(shown[health])) {
    const element = document.getElementById(id);
    element.dataset.state = state;
    write(element, text);
  }
  const note = document.getElementById("detail");
  note.hidden = !detail;
  write(note, detail);
}

async function watch() {
  if (!document.hidden) show(...(await ask()));
  setTimeout(watch, INTERVAL);
}

watch();
