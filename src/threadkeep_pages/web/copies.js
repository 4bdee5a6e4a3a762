// Copies of what is on the screen, for reopening without a network: the service worker answers from them when the server
// does not. They are of what was seen, with the cursor behind it, so that following goes on there.

import { ROOT } from "./router.js";

const CACHE = "threadkeep-data";
const REST = 500;

// Returns a function that keeps a copy soon, however often it is called. `make` returns the data, or null for none.
export function copier(path, make) {
  /** @type {number | null} */
  let timer = null;
  const write = async () => {
    timer = null;
    const data = make();
    if (!data || !("caches" in window)) return;
    try {
      const cache = await caches.open(CACHE);
      await cache.put(
        ROOT + path,
        new Response(JSON.stringify(data), { headers: { "Content-Type": "application/json" } }),
      );
    } catch {
      // no room: then there is no copy
    }
  };
  return () => {
    timer ??= setTimeout(write, REST);
  };
}
