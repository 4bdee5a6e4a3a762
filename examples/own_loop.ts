// A loop of your own over a Threadkeep server: your model and your tools, in a log that others follow, stop and resume.
//
//     THREADKEEP_URL=http://127.0.0.1:8000 node own_loop.ts "What is 2 + 3?"

import { connect } from "@threadkeep/client";

const threadkeep = connect(process.env.THREADKEEP_URL ?? "http://127.0.0.1:8000", { token: process.env.THREADKEEP_KEY });

type Step = { text: string } | { call: string; args: Record<string, number> };

const tools: Record<string, (args: Record<string, number>) => string> = {
  add: ({ a = 0, b = 0 }) => String(a + b),
};

// Ask your model here, with the messages so far.
async function* model(messages: { role: string; content: string }[]): AsyncGenerator<Step> {
  const last = messages.at(-1)?.content ?? "";
  const [a, b] = (last.match(/\d+/g) ?? []).map(Number);
  if (a !== undefined && b !== undefined) yield { call: "add", args: { a, b } };
  else for (const word of `That makes ${last}.`.split(/(?<= )/)) yield { text: word };
}

const conversation = await threadkeep.getOrCreate("sums");
const turn = await conversation.begin(process.argv[2] ?? "What is 2 + 3?");
try {
  for (let mayBeMore = true; mayBeMore; ) {
    mayBeMore = false;
    for await (const step of model((await conversation.read()).messages)) {
      turn.signal.throwIfAborted(); // somebody has stopped the turn
      if ("text" in step) {
        await turn.text(step.text);
        continue;
      }
      const id = await turn.call(step.call, step.args); // it is in the log before the tool runs
      await turn.result(id, tools[step.call]?.(step.args) ?? "There is no such tool.");
      mayBeMore = true;
    }
  }
  await turn.settle();
} catch (error) {
  if (turn.signal.aborted) console.error("The turn was stopped.");
  else await turn.settle("failed", { failure: { code: "loop_failed", detail: String(error) } });
}
for (const { role, content } of (await conversation.read()).messages) console.log(`${role}: ${content}`);
