// `useConversation` in React, against a server whose address is in the environment.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createElement } from "react";
import { act, create } from "react-test-renderer";
import { connect } from "@threadkeep/client";
import { useConversation } from "@threadkeep/client/react";

globalThis.IS_REACT_ACT_ENVIRONMENT = true;
const threadkeep = connect(process.env.THREADKEEP_URL);

async function until(isTrue) {
  for (let tries = 0; tries < 600; tries += 1) {
    if (isTrue()) return;
    await act(() => new Promise((resolve) => setTimeout(resolve, 20)));
  }
  assert.fail("it did not happen");
}

test("a component shows a conversation, sends, and follows what others say", async () => {
  const { id } = await threadkeep.create();
  let shown;
  function Chat() {
    shown = useConversation(threadkeep, id);
    return createElement("p", null, shown.messages.map(({ content }) => content).join("|"));
  }
  let root;
  await act(async () => {
    root = create(createElement(Chat));
  });
  assert.equal(shown.phase, "loading");
  await until(() => shown.phase === "ready");
  await act(async () => {
    await shown.send("My name is Ada.").number;
  });
  await until(() => shown.messages.length === 2 && !shown.isBusy);
  assert.match(root.toJSON().children[0], /^My name is Ada\.\|Nice to meet you, Ada!/);
  await act(async () => {
    await threadkeep.conversation(id).send("What is my name?").outcome();
  });
  await until(() => shown.messages.length === 4);
  assert.match(shown.messages.at(-1).content, /^Your name is Ada\./);
  await act(async () => root.unmount());
});
