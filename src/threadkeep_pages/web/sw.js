// The service worker: keeps the page itself and the newest copy of what was read, so that reopening works without a
// network. It always asks the network first; a copy is used only when no answer comes. The server puts `SHELL` (version
// and files) in front of this file.

const SHELL_CACHE = `threadkeep-shell-${SHELL.version}`;
const DATA_CACHE = "threadkeep-data";
const PATIENCE = 4000;
const MOST_COPIES = 60;
const ROOT = SHELL.root;
const COPIED = /^\/v1\/(me|assistants|models|conversations|conversations\/[^/]+)$/;

const worker = /** @type {WorkerScope} */ (/** @type {unknown} */ (self));

worker.addEventListener("install", (event) => {
  event.waitUntil(keepShell().then(() => worker.skipWaiting()));
});

worker.addEventListener("activate", (event) => {
  event.waitUntil(
    forgetOldShells()
      .then(() => worker.clients.claim())
      .then(keepFirstCopies),
  );
});

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  const path = url.pathname.slice(ROOT.length);
  if (request.mode === "navigate" && (path === "/" || path.startsWith("/c/"))) {
    event.respondWith(networkFirst(request, SHELL_CACHE, `${ROOT}/`));
  } else if (path.startsWith("/static/")) event.respondWith(networkFirst(request, SHELL_CACHE, url.pathname, event));
  else if (COPIED.test(path) && isNewestPage(url))
    event.respondWith(networkFirst(request, DATA_CACHE, copyName(url), event));
});

async function keepShell() {
  const cache = await caches.open(SHELL_CACHE);
  await cache.addAll(SHELL.files.map((path) => new Request(path, { cache: "no-cache" })));
}

async function forgetOldShells() {
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith("threadkeep-shell-") && name !== SHELL_CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
}

// What the page asked for before this worker was there.
async function keepFirstCopies() {
  const cache = await caches.open(DATA_CACHE);
  const paths = ["/v1/me", "/v1/assistants", "/v1/models", "/v1/conversations"];
  const isAway = () => {}; // the page will ask again itself
  await Promise.all(paths.map((path) => cache.add(ROOT + path).catch(isAway)));
}

// Only the newest page of a conversation or of the list is copied, under one name whatever its limit is.
const isNewestPage = (url) =>
  !["before", "head", "around", "after"].some((name) => url.searchParams.has(name)) &&
  url.searchParams.get("limit") !== "1";
const copyName = (url) => url.pathname;

async function networkFirst(request, cacheName, name, event) {
  const cache = await caches.open(cacheName);
  try {
    const answer = await patient(request, () => cache.match(name));
    if (answer.ok && cacheName === DATA_CACHE) event.waitUntil(keepCopy(cache, name, answer.clone()));
    else if (answer.ok && /\/static\/(vendor|texts)\//.test(name)) event.waitUntil(cache.put(name, answer.clone()));
    if (answer.status === 401) await caches.delete(DATA_CACHE);
    return answer;
  } catch (error) {
    const copy = await cache.match(name);
    if (copy) return copy;
    throw error;
  }
}

// Waits for the network, but not for ever where there is a copy.
async function patient(request, hasCopy) {
  const answer = fetch(request);
  const late = new Promise((resolve, reject) => {
    setTimeout(async () => (await hasCopy()) && reject(new Error("The network is slow.")), PATIENCE);
  });
  return Promise.race([answer, late]);
}

async function keepCopy(cache, name, answer) {
  await cache.put(name, answer);
  const names = await cache.keys();
  await Promise.all(names.slice(0, Math.max(0, names.length - MOST_COPIES)).map((old) => cache.delete(old)));
}
