// Two devices change the metadata of one conversation at the same time: run by test_modules.py, with node and no browser.

import assert from "node:assert/strict";
import test from "node:test";

// What the modules below look at when they are loaded in a browser.
Object.assign(globalThis, {
  addEventListener: () => {},
  document: { documentElement: { dataset: { root: "http://localhost" } } },
  location: new URL("http://localhost/"),
});
const { changeMetadata } = await import("../../../../src/threadkeep_pages/web/metadata.js");

/** A conversation on a server that takes a change of its newest version only, as the real one does. */
function stored() {
  const now = { version: 1, metadata: {} };
  globalThis.fetch = async (_url, { headers, body }) => {
    const expected = headers["If-Match"];
    if (expected && expected !== `"${now.version}"`) return Response.json({ code: "conflict" }, { status: 412 });
    now.version += 1;
    now.metadata = JSON.parse(body).metadata;
    return Response.json(now);
  };
  return { id: "c", now, readPage: async () => structuredClone(now) };
}

test("two writers at the same time keep what the other wrote", async () => {
  const conversation = stored();
  const write = (key) => changeMetadata(conversation, (metadata) => ({ ...metadata, [key]: 1 }));
  await Promise.all(["model_options", "feedback"].map(write));
  assert.deepEqual(conversation.now.metadata, { model_options: 1, feedback: 1 });
});

test("who is always slower gives up and says so", async () => {
  const conversation = stored();
  const change = (metadata) => {
    conversation.now.version += 1;
    return metadata;
  };
  await assert.rejects(changeMetadata(conversation, change), { status: 412 });
  assert.deepEqual(conversation.now.metadata, {});
});
