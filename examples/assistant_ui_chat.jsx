// A chat of assistant-ui whose threads, messages, branches and answers are kept by a Threadkeep server.
//
//     THREADKEEP_PROTOCOLS=ai-sdk,assistant-ui THREADKEEP_CORS_ORIGINS=http://localhost:5173 threadkeep serve
//
// The list of threads and their messages come from /assistant-ui; answers are streamed by /ai-sdk/chat, go on when the
// page is closed, and are here again when it is opened.

import {
  ActionBarPrimitive,
  AssistantCloud,
  AssistantRuntimeProvider,
  BranchPickerPrimitive,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadListItemPrimitive,
  ThreadListPrimitive,
  ThreadPrimitive,
  makeAssistantTool,
  useAui,
  useAuiState,
} from "@assistant-ui/react";
import { AssistantChatTransport, useAISDKChat, useChatRuntime } from "@assistant-ui/react-ai-sdk";
import {
  lastAssistantMessageIsCompleteWithApprovalResponses as isDecided,
  lastAssistantMessageIsCompleteWithToolCalls as isDone,
} from "ai";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

const server = globalThis.THREADKEEP_URL ?? "http://127.0.0.1:8000";
const chats = `${server}/ai-sdk/chat`;

// On your own machine nobody signs in. For people of your own, return a token of theirs: `authToken: async () => ...`,
// and send the same one in the `headers` of the transport.
const cloud = new AssistantCloud({ baseUrl: `${server}/assistant-ui`, anonymous: true, telemetry: false });

// A thread that is opened asks for the answer that is being written there, if there is one. A new thread has another id
// in the page than on the server.
const remote = new Map();
const resumable = {
  storage: { getStreamId: (id) => id ?? null, setStreamId() {}, clear() {} },
  resumeApi: (id) => `${chats}/${encodeURIComponent(remote.get(id) ?? id)}/stream`,
};

// A tool that the page runs: its definition goes along with each message, and the turn waits for what it gives.
const Clock = makeAssistantTool({
  toolName: "clock",
  description: "What time it is where the person is.",
  parameters: { type: "object", properties: {} },
  execute: async () => new Date().toTimeString(),
});

function App() {
  const runtime = useChatRuntime({
    cloud,
    transport: new AssistantChatTransport({ api: chats, resumable }),
    sendAutomaticallyWhen: (now) => isDecided(now) || isDone(now),
    onThreadIdChange: (thread) => history.replaceState(null, "", thread ? `#${thread}` : "#"),
  });
  const [opened] = useState(() => location.hash.slice(1));
  useEffect(() => {
    if (opened) void runtime.threads.switchToThread(opened).catch(() => {});
  }, [opened, runtime]);
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <Clock />
      <nav>
        <ThreadListPrimitive.Root>
          <ThreadListPrimitive.New>New thread</ThreadListPrimitive.New>
          <ul>
            <ThreadListPrimitive.Items components={{ ThreadListItem }} />
          </ul>
          <h2>Archived</h2>
          <ul data-testid="archived">
            <ThreadListPrimitive.Items archived components={{ ThreadListItem: ArchivedItem }} />
          </ul>
        </ThreadListPrimitive.Root>
      </nav>
      <main>
        <Thread />
      </main>
    </AssistantRuntimeProvider>
  );
}

function ThreadListItem() {
  const aui = useAui();
  const rename = () => {
    const title = prompt("Title", aui.threadListItem.getState().title);
    if (title) void aui.threadListItem.rename(title);
  };
  return (
    <li>
      <ThreadListItemPrimitive.Root>
        <ThreadListItemPrimitive.Trigger>
          <ThreadListItemPrimitive.Title fallback="New thread" />
        </ThreadListItemPrimitive.Trigger>
        <button onClick={rename}>Rename</button>
        <ThreadListItemPrimitive.Archive>Archive</ThreadListItemPrimitive.Archive>
        <ThreadListItemPrimitive.Delete>Delete</ThreadListItemPrimitive.Delete>
      </ThreadListItemPrimitive.Root>
    </li>
  );
}

function ArchivedItem() {
  return (
    <li>
      <ThreadListItemPrimitive.Root>
        <ThreadListItemPrimitive.Title fallback="New thread" />
        <ThreadListItemPrimitive.Unarchive>Restore</ThreadListItemPrimitive.Unarchive>
      </ThreadListItemPrimitive.Root>
    </li>
  );
}

function Thread() {
  return (
    <ThreadPrimitive.Root>
      <ThreadPrimitive.Viewport>
        <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage, UserEditComposer }} />
      </ThreadPrimitive.Viewport>
      <Reconnect />
      <ComposerPrimitive.Root>
        <ComposerPrimitive.Attachments components={{ Attachment }} />
        <ComposerPrimitive.Input placeholder="Message" />
        <ComposerPrimitive.AddAttachment>Attach</ComposerPrimitive.AddAttachment>
        <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
        <Stop />
      </ComposerPrimitive.Root>
    </ThreadPrimitive.Root>
  );
}

function UserMessage() {
  return (
    <MessagePrimitive.Root data-role="user">
      <MessagePrimitive.Attachments components={{ Attachment }} />
      <MessagePrimitive.Parts />
      <ActionBarPrimitive.Edit>Edit</ActionBarPrimitive.Edit>
      <Branches />
    </MessagePrimitive.Root>
  );
}

function UserEditComposer() {
  return (
    <ComposerPrimitive.Root data-role="edit">
      <ComposerPrimitive.Input aria-label="Edited message" />
      <ComposerPrimitive.Send>Save</ComposerPrimitive.Send>
    </ComposerPrimitive.Root>
  );
}

function AssistantMessage() {
  return (
    <MessagePrimitive.Root data-role="assistant">
      <MessagePrimitive.Parts components={{ tools: { Fallback: Tool } }} />
      <ActionBarPrimitive.Reload>Answer again</ActionBarPrimitive.Reload>
      <ActionBarPrimitive.FeedbackNegative>Not good</ActionBarPrimitive.FeedbackNegative>
      <Branches />
    </MessagePrimitive.Root>
  );
}

// A tool call; some wait until a person allows them, also after a reload and on another device.
function Tool({ toolName, args, result, approval, respondToApproval }) {
  const isAsked = approval && approval.approved === undefined && result === undefined;
  return (
    <p data-testid="tool">
      {toolName}({JSON.stringify(args)}) {result === undefined ? "" : `= ${JSON.stringify(result)}`}
      {isAsked && <button onClick={() => respondToApproval({ approved: true })}>Allow</button>}
      {isAsked && <button onClick={() => respondToApproval({ approved: false })}>Refuse</button>}
    </p>
  );
}

// A file: on its way with its name, sent as it looks.
function Attachment() {
  const { name, content = [] } = useAuiState((state) => state.attachment);
  const picture = content.find((part) => part.type === "image");
  return picture ? <img src={picture.image} alt={name} width="80" /> : <span data-testid="attached">{name}</span>;
}

function Branches() {
  return (
    <BranchPickerPrimitive.Root hideWhenSingleBranch>
      <BranchPickerPrimitive.Previous>‹</BranchPickerPrimitive.Previous>
      <span>
        <BranchPickerPrimitive.Number /> of <BranchPickerPrimitive.Count />
      </span>
      <BranchPickerPrimitive.Next>›</BranchPickerPrimitive.Next>
    </BranchPickerPrimitive.Root>
  );
}

// To close the stream is not to stop the answer: the server is asked to.
function Stop() {
  const isRunning = useAuiState((state) => state.thread.isRunning);
  const thread = useAuiState((state) => state.threadListItem.remoteId);
  const stop = () => fetch(`${chats}/${encodeURIComponent(thread)}/stop`, { method: "POST" });
  return isRunning && thread ? <button onClick={stop}>Stop</button> : null;
}

// When the server or the network was away, read what was written meanwhile, and go on.
function Reconnect() {
  const chat = useAISDKChat();
  const id = useAuiState((state) => state.threadListItem.id);
  const thread = useAuiState((state) => state.threadListItem.remoteId);
  useEffect(() => {
    if (thread) remote.set(id, thread);
  }, [id, thread]);
  useEffect(() => {
    if (!chat?.error || !thread) return undefined;
    const again = async () => {
      const answer = await fetch(`${chats}/${encodeURIComponent(thread)}`).catch(() => null);
      if (!answer?.ok) return;
      clearInterval(timer);
      chat.setMessages(await answer.json());
      await chat.resumeStream();
    };
    const timer = setInterval(again, 1000);
    return () => clearInterval(timer);
  }, [chat, thread]);
  return chat?.error ? <p role="alert">Not connected: {chat.error.message}</p> : null;
}

createRoot(document.getElementById("root")).render(<App />);
