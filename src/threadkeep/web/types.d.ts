// The shapes that the page's modules share, for `make check` alone: what the server answers (docs/reference/http-api.md)
// and what the page keeps of it. Everything here is global, so that a module names a type without importing it.

type Signal<Value> = import("@preact/signals").Signal<Value>;
type OpenConversation = import("./conversation.js").OpenConversation;

type TurnState = "running" | "waiting" | "queued";

/** A conversation as the list shows it; an open one has `system` and `metadata`, too. */
interface About {
  id: string;
  assistant: string | null;
  title: string | null;
  model: string | null;
  status: string;
  archived: boolean;
  version: number;
  head: number | null;
  entries: number;
  created_at: string;
  updated_at: string;
  system?: string | null;
  metadata?: Record<string, unknown>;
}

interface ToolCall {
  id: string;
  name: string;
  args: Record<string, unknown>;
}

interface ToolResult {
  tool_call_id: string;
  duration_ms: number | null;
  error: string | null;
}

/** A message with its place in the tree. */
interface Message {
  id: string;
  seq: number;
  parent: number | null;
  siblings: number[];
  turn: number | null;
  created_at: string;
  role: "user" | "assistant" | "tool" | "system";
  content: string;
  blocks: { type: string }[];
  tool_calls: ToolCall[];
  tool_result?: ToolResult | null;
  tool_trace: Record<string, any>[];
  usage?: Record<string, number> | null;
  status?: string;
  model?: string | null;
  /** It came by an event: blocks may follow it. */
  isNew?: boolean;
}

/** Why a turn failed: a code for programs, and words for people. */
interface Failure {
  code: string;
  detail: string;
}

/** A turn as the server tells it. */
interface Turn {
  id: number;
  state: string;
  failure?: Failure | null;
  message?: { content: string } | null;
  calls?: string[];
}

/** A page of a conversation; a copy that this browser kept may hold the text that was being written. */
interface ConversationPage extends About {
  branch: number | null;
  messages: Message[];
  before: number | null;
  after: number | null;
  turns: Turn[];
  ended?: Turn | null;
  state?: Record<string, unknown>;
  cursor: string;
  draft?: Draft | null;
}

/** The text that is being written. */
interface Draft {
  id: string;
  turn: number;
  text: string;
}

/** Where a message goes that is sent: see "Sending" in the reference. */
interface Place {
  parent?: number | null;
  expected_head?: number;
}

/** A message on its way to the server. */
interface OutboxItem extends Place {
  key: string;
  at: number;
  state: "waiting" | "stale" | "refused";
  conversation: string;
  content: string;
  assistant?: string;
  problem?: string;
  head?: number | null;
}

/** A message that the server took and whose entry has not arrived. */
interface TakenItem {
  key: string;
  at: number;
  conversation: string;
  turn: number;
  content: string;
  parent?: number | null;
}

interface Assistant {
  name: string;
  description: string;
  examples: string[];
  model: string | null;
  states?: string[];
}

interface Models {
  default: { name: string; reason?: string; missing?: string } | null;
  data: string[];
}

interface Toast {
  id: number;
  text: string;
  kind: string;
  action: { label: string; run: () => void } | null;
  until: number;
}

interface Trial {
  conversation: string;
  steps: { reload?: boolean; kill?: boolean; checked?: boolean };
  result?: { isSame: boolean; messages: number; characters: number };
}

interface Hit {
  conversation: string;
  title: string | null;
  entry: number;
  role: string;
  snippet: string;
  highlights: [number, number][];
}

/** The server puts it in front of the service worker. */
declare const SHELL: { version: string; files: string[] };

/** What the service worker uses of its scope; the types of a page know nothing of it. */
interface WorkerScope {
  skipWaiting(): Promise<void>;
  clients: { claim(): Promise<void> };
  addEventListener(name: "install" | "activate", listener: (event: LongEvent) => void): void;
  addEventListener(name: "fetch", listener: (event: FetchEvent) => void): void;
}

interface LongEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}

interface FetchEvent extends LongEvent {
  request: Request;
  respondWith(answer: Promise<Response>): void;
}

interface Window {
  DOMPurify: { sanitize(markup: string, options: object): DocumentFragment | null };
}
