// A chat with `useChat` of the AI SDK whose messages, branches and answers are kept by a Threadkeep server.
//
//     THREADKEEP_PROTOCOLS=ai-sdk THREADKEEP_CORS_ORIGINS=http://localhost:5173 threadkeep serve
//
// The chat is named in the address of the page. An answer goes on when the page is closed, and is here when it is opened.

import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

const api = `${globalThis.THREADKEEP_URL ?? "http://127.0.0.1:8000"}/ai-sdk/chat`;

// On your own machine nobody signs in. For people of your own: `headers: () => ({ Authorization: `Bearer ${token}` })`.
const transport = new DefaultChatTransport({ api });

async function history(id, entry) {
  const answer = await fetch(`${api}/${encodeURIComponent(id)}${entry ? `?entry=${entry}` : ""}`);
  if (answer.status === 404) return []; // nothing was sent yet
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

function App() {
  const [id] = useState(() => location.hash.slice(1) || crypto.randomUUID());
  const [messages, setMessages] = useState();
  useEffect(() => {
    location.hash = id;
    void history(id).then(setMessages);
  }, [id]);
  return messages ? <Chat id={id} messages={messages} /> : <p>Loading</p>;
}

function Chat({ id, messages: initial }) {
  const chat = useChat({ id, messages: initial, transport, resume: true });
  const { messages, sendMessage, setMessages, regenerate, resumeStream, status, error } = chat;
  const [text, setText] = useState("");
  const isRunning = status === "submitted" || status === "streaming";

  // When the server or the network was away, read what was written meanwhile, and go on.
  useEffect(() => {
    if (!error) return undefined;
    const timer = setInterval(async () => {
      const found = await history(id).catch(() => null);
      if (found === null) return;
      clearInterval(timer);
      setMessages(found);
      await resumeStream();
    }, 1000);
    return () => clearInterval(timer);
  }, [error, id, resumeStream, setMessages]);

  const send = (event) => {
    event.preventDefault();
    void sendMessage({ text });
    setText("");
  };
  const edit = (message) => {
    const edited = prompt("Message", textOf(message));
    if (edited) void sendMessage({ text: edited, messageId: message.id });
  };
  const show = async (entry) => setMessages(await history(id, entry));
  // To close the stream is not to stop the answer: the server is asked to.
  const stop = () => fetch(`${api}/${encodeURIComponent(id)}/stop`, { method: "POST" });

  return (
    <main data-status={status}>
      {messages.map((message) => (
        <article key={message.id} data-role={message.role}>
          <p>{textOf(message)}</p>
          {message.role === "user" && <button onClick={() => edit(message)}>Edit</button>}
          <Branches of={message.metadata} show={show} />
        </article>
      ))}
      {error && <p role="alert">Not connected: {error.message}</p>}
      <form onSubmit={send}>
        <input placeholder="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button disabled={isRunning}>Send</button>
      </form>
      {isRunning ? <button onClick={stop}>Stop</button> : <button onClick={() => regenerate()}>Answer again</button>}
    </main>
  );
}

/** The messages that stand in the same place, on other branches. */
function Branches({ of, show }) {
  const branches = of?.branches ?? [];
  if (branches.length < 2) return null;
  return branches.map((entry, place) => (
    <button key={entry} aria-pressed={entry === of.entry} onClick={() => show(entry)}>
      {place + 1}
    </button>
  ));
}

function textOf(message) {
  return message.parts
    .filter((part) => part.type === "text")
    .map((part) => part.text)
    .join("");
}

createRoot(document.getElementById("root")).render(<App />);
