// A chat in a terminal with `HttpAgent` of AG-UI, whose thread outlives this program and the server.
//
//     npm install @ag-ui/client
//     THREADKEEP_PROTOCOLS=ag-ui threadkeep serve
//     node examples/ag_ui_chat.mjs "My name is Ada."
//     node examples/ag_ui_chat.mjs "What is my name?"
//
// It shows what was said so far, and the rest of an answer that is still being written, then asks. Cut it off in the
// middle of an answer, and call it again without a question: the answer is there. Where an assistant wants to use a
// tool that needs an approval, it asks you.

import { createInterface } from "node:readline/promises";
import { HttpAgent } from "@ag-ui/client";

const { THREADKEEP_URL = "http://127.0.0.1:8000", THREADKEEP_KEY, ASSISTANT = "chat", THREAD = "terminal" } = process.env;

/** An agent that can come back to its thread: `connectAgent()` gets all that was said and what is being written. */
class DurableAgent extends HttpAgent {
  connect(input) {
    const there = this.clone();
    there.url = `${this.url}/connect`;
    return there.run(input);
  }
}

const agent = new DurableAgent({
  url: `${THREADKEEP_URL}/ag-ui/${ASSISTANT}`,
  threadId: THREAD,
  headers: THREADKEEP_KEY ? { Authorization: `Bearer ${THREADKEEP_KEY}` } : {},
});
let isTold = false;
agent.subscribe({
  onTextMessageContentEvent: ({ event }) => void (isTold && process.stdout.write(event.delta)),
  onRunErrorEvent: ({ event }) => console.log(`\n${event.code}: ${event.message}`),
});

await agent.connectAgent();
for (const { role, content } of agent.messages) {
  if (role === "user" || (role === "assistant" && content)) console.log(`${role}: ${content}`);
}
isTold = true;

const [question] = process.argv.slice(2);
if (question) {
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content: question });
  console.log(`user: ${question}`);
  await agent.runAgent();
  console.log();
}
while (agent.pendingInterrupts.length) {
  const person = createInterface({ input: process.stdin, output: process.stdout });
  const resume = [];
  for (const { id, message } of agent.pendingInterrupts) {
    const approved = (await person.question(`${message} (yes or no) `)).startsWith("y");
    resume.push({ interruptId: id, status: "resolved", payload: { approved } });
  }
  person.close();
  await agent.runAgent({ resume });
  console.log();
}
