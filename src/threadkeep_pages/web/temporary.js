// Temporary conversations: deleted as soon as whoever has one open goes elsewhere. One whose tab was closed is deleted when the
// page is opened again in this browser, or else by the server's rules, an hour after its last word.

import { conversationPath, del } from "./api.js";
import { effect } from "./preact.js";
import { route } from "./router.js";
import { keep, kept } from "./shelf.js";
import { opened } from "./views.js";

const PLACE = "temporary";
const lockOf = (id) => `temporary:${id}`;
/** @returns {string[]} */
const known = () => kept(PLACE, []);
const note = (ids) => keep(PLACE, ids);

async function remove(id) {
  try {
    await del(conversationPath(id));
  } catch (error) {
    if (error.status !== 404) return; // another time
  }
  note(known().filter((one) => one !== id));
}

/** Marks that this tab has it open, until the function that is returned is called. */
function hold(id) {
  note([...new Set([...known(), id])]);
  let release = () => {};
  const held = new Promise((done) => (release = () => done(undefined)));
  navigator.locks?.request(lockOf(id), { mode: "shared" }, () => held);
  return release;
}

// Deletes what no tab of this browser has open any more.
async function sweep() {
  if (!navigator.locks || !known().length) return;
  const { held = [] } = await navigator.locks.query();
  const names = new Set(held.map(({ name }) => name));
  for (const id of known()) if (id !== route.value.conversation && !names.has(lockOf(id))) await remove(id);
}

export function start() {
  sweep();
  let id = "";
  let release = () => {};
  effect(() => {
    const conversation = opened.value;
    const about = conversation?.about.value;
    const now = conversation && about?.temporary ? conversation.id : "";
    if (now === id || (conversation?.id === id && !about)) return;
    const left = id;
    release();
    id = now;
    release = now ? hold(now) : () => {};
    if (!left) return;
    if (conversation?.id === left) note(known().filter((one) => one !== left)); // it is kept after all
    else remove(left);
  });
}
