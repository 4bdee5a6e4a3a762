// The client of npm at a server of ours: `mcp_client.mjs FOLDER URL AUTHORIZATION`, where FOLDER has its packages.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, url, authorization] = process.argv.slice(2);
const found = createRequire(`${folder}/package.json`).resolve("@modelcontextprotocol/client");
const { Client, StreamableHTTPClientTransport } = await import(pathToFileURL(found).href);

const client = new Client({ name: "test", version: "1" });
await client.connect(
  new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers: { authorization } } }),
);
const call = async (name, args) => (await client.callTool({ name, arguments: args })).structuredContent;
const sent = await call("send_message", { text: "My name is Bea." });
const { answer, conversation } = await call("send_message", {
  text: "What is my name?",
  conversation: sent.conversation,
});
await call("append_note", { text: "Okapis hide.", conversation });
const told = {
  tools: (await client.listTools()).tools.map((tool) => tool.name),
  answer,
  found: (await call("search_conversations", { query: "okapis" })).hits.length,
  resources: (await client.listResources()).resources.length,
  refused: (await client.callTool({ name: "read_conversation", arguments: { conversation: "other" } })).isError,
};
await client.close();
console.log(JSON.stringify(told));
