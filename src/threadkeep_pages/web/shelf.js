// What this browser keeps for a person: drafts, messages that wait, settings. Everything is written at once, so that
// closing the tab loses nothing, and belongs to one person, so that nobody sends the words of another.

const PREFIX = "threadkeep.";
let owner = "";

export function setOwner(tenant, user) {
  owner = `${encodeURIComponent(tenant)}/${encodeURIComponent(user)}.`;
}

// The owner of what counts for everybody at this browser, and before it is known who that is.
export const EVERYBODY = "";

const named = (name, who = owner) => `${PREFIX}${who}${name}`;

export function keep(name, value, who = owner) {
  try {
    localStorage.setItem(named(name, who), JSON.stringify(value));
    return true;
  } catch {
    return false; // full, or not allowed
  }
}

/**
 * @param {string} name
 * @param {any} [missing]
 * @param {string} [who]
 */
export function kept(name, missing = null, who = owner) {
  try {
    const text = localStorage.getItem(named(name, who));
    return text === null ? missing : JSON.parse(text);
  } catch {
    return missing;
  }
}

export function drop(name) {
  try {
    localStorage.removeItem(named(name));
  } catch {
    // nothing was kept
  }
}

// The names that begin so, without the beginning.
export function namesOf(beginning) {
  const whole = named(beginning);
  try {
    return Object.keys(localStorage)
      .filter((name) => name.startsWith(whole))
      .map((name) => name.slice(whole.length));
  } catch {
    return [];
  }
}

// All of it, of everybody, as one text.
export const everything = () => Object.entries(localStorage).flat().join("\n");

// Calls `listener` when another tab changed something that begins so.
export function onChange(beginning, listener) {
  addEventListener("storage", (event) => {
    if (event.key === null || event.key.startsWith(named(beginning))) listener();
  });
}

// Forgets everything of everybody: at sign-out.
export function clear() {
  for (const store of [localStorage, sessionStorage]) {
    for (const name of Object.keys(store)) {
      if (name.startsWith(PREFIX)) store.removeItem(name);
    }
  }
}
