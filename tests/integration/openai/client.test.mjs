// OpenAI's official client of npm in Node, against a server whose address is in the environment.

import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";
import { cutting, places } from "./served.mjs";

const baseURL = `${process.env.THREADKEEP_URL}/openai/v1`;
const ask = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const LOCATE = { type: "function", name: "locate", parameters: { type: "object", properties: {} }, strict: false };

/** A network that breaks off its first answers after so many bytes each. */
const breaking = (sizes) => (...given) => (sizes.length ? cutting(sizes.shift()) : fetch)(...given);

/** The text of a response, from as many streams as it takes. */
async function read(client, question) {
  const told = { text: "", number: -1, id: null, last: null };
  while (told.last?.type !== "response.completed") {
    try {
      const stream = told.id
        ? await client.responses.retrieve(told.id, { stream: true, starting_after: told.number })
        : await client.responses.create({ model: "helper", input: question, stream: true }, { idempotencyKey: question });
      for await (const event of stream) {
        assert.ok(event.sequence_number > told.number);
        told.number = event.sequence_number;
        if (event.type === "response.created") told.id = event.response.id;
        if (event.type === "response.output_text.delta") told.text += event.delta;
        told.last = event;
      }
    } catch (error) {
      if (error instanceof OpenAI.APIError && error.status) throw error;
    }
  }
  return told;
}

const items = async (conversation, query = {}) => {
  const found = [];
  for await (const item of ask.conversations.items.list(conversation, { order: "asc", limit: 2, ...query })) found.push(item);
  return found;
};

test("a conversation goes on", async () => {
  const first = await ask.responses.create({ model: "helper", input: "one" });
  assert.equal(first.output_text, "one ");
  const second = await ask.responses.create({ model: "helper", input: "two", previous_response_id: first.id });
  assert.deepEqual(second.conversation, first.conversation);
  const conversation = await ask.conversations.retrieve(first.conversation.id);
  assert.equal(conversation.object, "conversation");
  const told = await items(conversation.id);
  assert.deepEqual(told.map(({ content: [{ text }] }) => text), ["one", "one ", "two", "two "]);
  assert.deepEqual((await ask.responses.retrieve(second.id)).output, second.output);
  assert.deepEqual((await ask.models.list()).data.map(({ id }) => id), ["helper", "other"]);
});

test("an answer that was cut anywhere is whole in the end", async () => {
  const sizes = places(5000, 50);
  while (sizes.length) {
    const fetch = breaking(sizes.splice(0, 5));
    const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0, fetch });
    const told = await read(client, `think ${sizes.length}\nuse look\ncount 30`);
    const stored = await ask.responses.retrieve(told.id);
    assert.equal(told.text, stored.output_text);
    assert.deepEqual(told.last.response.output, stored.output);
    assert.match(told.text, / 28 29 /);
    assert.equal((await items(stored.conversation.id)).filter(({ role }) => role === "user").length, 1);
  }
});

test("the stream helper has the whole answer", async () => {
  const stream = ask.responses.stream({ model: "helper", input: "think\nuse look\ncount 9" });
  let text = "";
  stream.on("response.output_text.delta", ({ delta }) => (text += delta));
  const final = await stream.finalResponse();
  assert.equal(final.output_text, text);
  assert.deepEqual(final.output.map(({ type }) => type), ["reasoning", "message", "mcp_call", "message"]);
});

test("tools run here, and approvals are given", async () => {
  const asked = await ask.responses.create({ model: "helper", input: "use locate\ndone", tools: [LOCATE] });
  const call = asked.output.find(({ type }) => type === "function_call");
  const answered = await ask.responses.create({
    model: "helper",
    previous_response_id: asked.id,
    input: [{ type: "function_call_output", call_id: call.call_id, output: "Oslo" }],
  });
  assert.equal(answered.output_text, "done [Oslo]");
  const waiting = await ask.responses.create({ model: "helper", input: "use remove\ndone" });
  const request = waiting.output.find(({ type }) => type === "mcp_approval_request");
  const allowed = await ask.responses.create({
    model: "helper",
    previous_response_id: waiting.id,
    input: [{ type: "mcp_approval_response", approval_request_id: request.id, approve: true }],
  });
  assert.equal(allowed.output_text, "done [removed hall 0]");
});

test("a request that the client sends again is asked once", async () => {
  let fails = 2;
  const fetch = async (address, init) => {
    const answer = await globalThis.fetch(address, init);
    if (fails-- > 0) throw new TypeError("network error");
    return answer;
  };
  const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 2, fetch });
  const { conversation, output_text } = await client.responses.create({ model: "helper", input: "count 20" });
  assert.match(output_text, / 18 19 $/);
  assert.equal((await items(conversation.id)).length, 2);
});

test("chat completions, and what is refused", async () => {
  const messages = [{ role: "user", content: "hello there" }];
  const whole = await ask.chat.completions.create({ model: "helper", messages });
  assert.equal(whole.choices[0].message.content, "hello there ");
  const stream = ask.chat.completions.stream({ model: "helper", messages });
  assert.equal(await stream.finalContent(), "hello there ");
  await assert.rejects(ask.responses.create({ model: "nobody", input: "hi" }), { status: 400, code: "invalid_value" });
  await assert.rejects(ask.responses.retrieve("resp_1-nobody"), { status: 404, code: "not_found" });
});
