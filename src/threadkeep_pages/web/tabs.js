// The tabs of one browser: one of them at a time does a job for all, and they tell each other what happened. Where the
// browser offers neither (an old one, or a page that did not come over https), each tab does everything itself.

const channel = "BroadcastChannel" in window ? new BroadcastChannel("threadkeep") : null;
const listeners = new Map();

channel?.addEventListener("message", ({ data }) => {
  for (const listener of listeners.get(data.topic) ?? []) listener(data.said);
});

// Calls `listener` with what other tabs tell on a topic.
export function hear(topic, listener) {
  listeners.set(topic, [...(listeners.get(topic) ?? []), listener]);
}

export function tell(topic, said) {
  channel?.postMessage({ topic, said });
}

// Runs `work` while no other tab does work of this name; waits for its turn. The work lasts until its promise settles.
export function alone(name, work) {
  if (!navigator.locks) return work();
  return navigator.locks.request(`threadkeep-${name}`, work);
}

// Asks the browser to keep what is stored, also when disk space is short.
export function persist() {
  navigator.storage?.persist?.().catch(() => {});
}
