// `@threadkeep/client` in Node, against a server whose address is in the environment.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Outbox, Problem, Unreachable, connect, inMemory } from "@threadkeep/client";

const URL_HERE = process.env.THREADKEEP_URL ?? "";
const threadkeep = connect(URL_HERE);

async function all(events) {
  const found = [];
  for await (const event of events) found.push(event);
  return found;
}

test("a message is sent, followed and answered", async () => {
  const conversation = await threadkeep.create({ title: "Names" });
  assert.equal(conversation.value?.title, "Names");
  const turn = conversation.send("My name is Ada.");
  const types = (await all(turn.events())).map(({ type }) => type);
  assert.equal(types[0], "message.completed");
  assert.equal(types.at(-1), "turn.completed");
  const { turn: ended, message } = await turn.outcome();
  assert.equal(ended.state, "completed");
  assert.equal(ended.id, await turn.number);
  assert.match(message?.content ?? "", /^Nice to meet you, Ada!/);
  const { messages } = await conversation.read();
  assert.deepEqual(messages.map(({ role }) => role), ["user", "assistant"]);
});

test("a stream goes on behind each of its events, exactly", async () => {
  const conversation = await threadkeep.create();
  await conversation.send("My name is Ada.").outcome();
  const whole = [];
  for await (const event of conversation.follow({ cursor: "0" })) {
    if (event.type === "presence") break;
    whole.push(event);
  }
  for (const [at, { cursor }] of whole.entries()) {
    const rest = [];
    for await (const event of conversation.follow({ cursor })) {
      if (event.type === "presence") break;
      rest.push(event);
    }
    assert.deepEqual(rest, whole.slice(at + 1));
  }
});

test("a network that cuts every stream and loses every first answer changes nothing", async () => {
  const lost = new Set();
  let cuts = 0;
  const fetch = async (address, init) => {
    const answer = await globalThis.fetch(address, init);
    if (answer.headers.get("content-type")?.startsWith("text/event-stream")) {
      let left = 1500;
      const cut = new TransformStream({
        transform(chunk, to) {
          to.enqueue(chunk.subarray(0, left));
          left -= chunk.length;
          if (left > 0) return;
          cuts += 1;
          to.error(new Error("cut"));
        },
      });
      return new Response(answer.body?.pipeThrough(cut), answer);
    }
    const name = `${init.method} ${address} ${init.headers["Idempotency-Key"]}`;
    if (!lost.has(name) && init.method !== "GET") {
      lost.add(name);
      throw new TypeError("lost");
    }
    return answer;
  };
  const cut = connect(URL_HERE, { fetch });
  const conversation = await cut.getOrCreate("cut-often");
  for (const name of ["Ada", "Bob", "Eve"]) await conversation.send(`My name is ${name}.`).outcome();
  const told = [];
  for await (const event of conversation.follow({ cursor: "0" })) {
    told.push(event);
    if (told.filter(({ type }) => type === "turn.completed").length === 3) break;
  }
  const inside = threadkeep.conversation("cut-often");
  const { messages } = await inside.read();
  const said = told.filter(({ type }) => type === "message.completed").map((event) => event.message.content);
  assert.deepEqual(said, messages.map(({ content }) => content));
  assert.equal(messages.length, 6);
  assert.ok(cuts > 1);
  assert.ok(lost.size > 3);
  assert.equal(new Set(told.map(({ cursor }) => cursor)).size, told.length);
});

test("a loop of one's own runs a turn, which others see, and is told when it is stopped", async () => {
  const conversation = await threadkeep.create();
  const turn = await conversation.begin("What is 2 + 3?");
  turn.text("Let me ");
  turn.text("see. ");
  const call = await turn.call("add", { a: 2, b: 3 });
  await turn.result(call, "5");
  for (const word of ["That ", "makes ", "5."]) await turn.text(word);
  await turn.settle();
  const { messages, ended } = await conversation.read();
  assert.deepEqual(
    messages.map(({ role, content }) => [role, content]),
    [["user", "What is 2 + 3?"], ["assistant", "Let me see. "], ["tool", "5"], ["assistant", "That makes 5."]],
  );
  assert.equal(ended?.state, "completed");
  const other = await conversation.begin("And now?");
  other.text("Well");
  await other.stored();
  await conversation.stop();
  await assert.rejects(other.settle(), (error) => error instanceof Problem && error.status === 409);
  assert.ok(other.signal.aborted);
});

test("a loop waits for the turn before its own, and hears of a stop while it has nothing to say", async () => {
  const conversation = await threadkeep.create();
  const first = await conversation.begin("One");
  let hasBegun = false;
  const second = conversation.begin("Two").then((turn) => ((hasBegun = true), turn));
  while ((await conversation.read()).turns.length < 2);
  assert.ok(!hasBegun);
  await first.settle();
  const turn = await second;
  const stopped = new Promise((resolve) => turn.signal.addEventListener("abort", resolve));
  await conversation.stop();
  await stopped;
  assert.equal((await conversation.read()).ended?.state, "cancelled");
});

test("what is refused is a problem with its code", async () => {
  await assert.rejects(
    threadkeep.conversation("nothing").read(),
    (error) => error instanceof Problem && error.status === 404 && error.code === "conversation_not_found",
  );
  await assert.rejects(connect("http://127.0.0.1:9").list(), Unreachable);
});

test("a loop over events ends when it is left or aborted", async () => {
  const conversation = await threadkeep.create();
  const ending = new AbortController();
  const heard = all(conversation.follow({ signal: ending.signal }));
  setTimeout(() => ending.abort(), 50);
  assert.ok((await heard).every(({ type }) => type === "presence"));
});

test("the list tells of a conversation that is made", async () => {
  const ending = new AbortController();
  setTimeout(() => threadkeep.create({ title: "Told" }), 300);
  for await (const event of threadkeep.events({ signal: ending.signal })) {
    if (event.type === "conversation.created" && event.title === "Told") break;
  }
});

test("an outbox sends in order, once each, when the server is there again", async () => {
  const conversation = await threadkeep.create();
  let isAway = true;
  const store = inMemory();
  const outbox = connect(URL_HERE, {
    fetch: (address, init) => (isAway ? Promise.reject(new TypeError("away")) : globalThis.fetch(address, init)),
  }).outbox({ store, onItems: (items) => items.length || done() });
  let done = () => {};
  const isEmpty = new Promise((resolve) => (done = resolve));
  for (const content of ["one", "two", "three"]) outbox.add({ conversation: conversation.id, content });
  assert.equal(store.all().length, 3);
  await outbox.flush();
  isAway = false;
  outbox.hurry();
  await isEmpty;
  const { messages, turns } = await conversation.read();
  const queued = turns.flatMap(({ message }) => (message ? [message.content] : []));
  const sent = messages.filter(({ role }) => role === "user").map(({ content }) => content);
  assert.deepEqual([...sent, ...queued], ["one", "two", "three"]);
});

test("a message that is refused holds back those of its conversation, and no others", async () => {
  const sent = [];
  const outbox = new Outbox({
    send: async ({ conversation, content }) => {
      if (content === "bad") throw new Problem(400, { code: "invalid_value", detail: "No." });
      sent.push(`${conversation} ${content}`);
    },
  });
  for (const [conversation, content] of [["a", "bad"], ["a", "held"], ["b", "free"]]) outbox.add({ conversation, content });
  await outbox.flush();
  assert.deepEqual(sent, ["b free"]);
  const [bad] = outbox.items;
  assert.deepEqual([bad.state, bad.problem], ["refused", "No."]);
  outbox.remove(bad);
  await outbox.flush();
  assert.deepEqual(sent, ["b free", "a held"]);
});
