// The shapes that the page's modules share, for `make check` alone: what the server answers (docs/reference/http-api.md)
// and what the page keeps of it. Everything here is global, so that a module names a type without importing it.

type Signal<Value> = import("@preact/signals").Signal<Value>;
type OpenConversation = import("./conversation.js").OpenConversation;

/** The name of a text in the catalogues. */
type TextKey = keyof typeof import("./texts/en.js").default;

/** A catalogue: texts with the forms for numbers that its language has. What is missing is shown in English. */
type Texts = Partial<Record<TextKey, string | Partial<Record<Intl.LDMLPluralRule, string>>>>;

type TurnState = "running" | "waiting" | "queued";

/** A conversation as the list shows it; an open one has `system` and `metadata`, too. */
interface About {
  id: string;
  assistant: string | null;
  title: string | null;
  model: string | null;
  status: string;
  archived: boolean;
  pinned: boolean;
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
  parts?: Record<string, any>[];
  usage?: Record<string, number> | null;
  status?: string;
  model?: string | null;
  /** What somebody thinks of it. */
  feedback?: { rating: "up" | "down"; comment: string | null } | null;
  /** It came by an event: blocks may follow it. */
  isNew?: boolean;
}

/** Why a turn failed: a code for programs, and words for people. */
interface Failure {
  code: string;
  detail: string;
}

/** A turn that is not over, as the server tells it. */
interface Turn {
  id: number;
  state: TurnState;
  message?: { content: string; parts?: Record<string, any>[] } | null;
  calls?: string[];
}

/** A page of a conversation; a copy that this browser kept may hold the text that was being written. */
interface ConversationPage extends About {
  branch: number | null;
  messages: Message[];
  before: number | null;
  after: number | null;
  turns: Turn[];
  ended?: { id: number; state: string; failure: Failure | null; detail?: string | null } | null;
  state?: Record<string, unknown>;
  cursor: string;
  draft?: Draft | null;
}

/** The text that is being written. */
interface Draft {
  id: string;
  turn: number;
  text: string;
  /** What the model thinks before it speaks. */
  reasoning?: string;
}

/** What is known of an open conversation: see `reducer.js`. */
interface ConversationState {
  /** `local`: nothing of it was sent yet; `gone`: there is no such one; `away`: the server cannot be reached. */
  phase: "loading" | "ready" | "local" | "gone" | "away";
  about: About | null;
  messages: Message[];
  /** More to load above, and below. */
  before: number | null;
  after: number | null;
  /** The newest entry of the branch that is shown, and of the one that goes on. */
  branch: number;
  head: number;
  draft: Draft | null;
  turns: Record<string, TurnState>;
  queued: { turn: number; content: string; parts?: Record<string, any>[] }[];
  /** Turns whose message has come, on whatever branch. */
  arrived: Set<number | null>;
  /** The tool calls that wait for a person, and what was decided. */
  waiting: string[];
  approvals: Record<string, boolean>;
  state: Record<string, unknown>;
  readers: number;
  spooled: boolean;
  /** How the last turn failed. */
  failure: Failure | null;
  /** What else there is to say of how it ended. */
  note: string | null;
  /** The turns that were stopped, as far as that is known. */
  stopped: Set<number>;
  /** The model failed and is asked again at that time. */
  retry: { turn: number; attempt: number; attempts: number; code: string; until: number } | null;
  /** While a branch begins here: the entry that it continues. */
  cut: number | null;
  /** By entry: the text that this view sent to continue it; null for another answer. */
  ownBranches: Record<number, string | null>;
  /** The message to scroll to. */
  target: { seq: number; isMarked: boolean } | null;
  /** The conversation went on elsewhere while this branch was shown. */
  hasMoved: boolean;
  /** The entry of the newest tool result, which blocks that follow belong to. */
  lastResult: number;
  /** How many messages have come since the connection was made again; null when that is over. */
  catchingUp: number | null;
  news: { kind: "resumed" } | { kind: "caught up"; messages: number } | null;
}

/** An event of the server, with its place in the log, or one of the page's own. */
interface ConversationEvent {
  name: string;
  data: any;
  cursor?: string;
  /** When it came. */
  at?: number;
}

/** Where a message goes that is sent: see "Sending" in the reference. */
interface Place {
  parent?: number | null;
  expected_head?: number;
}

/** Who is here, and how large the files may be that are attached: 0 is any size, null (or nothing) that there are none. */
interface Me {
  tenant: string;
  user: string;
  role: string;
  signed_in: boolean;
  max_file_bytes?: number | null;
  max_attached_bytes?: number | null;
}

/** A part of a message that refers to a stored file. */
interface FilePart {
  type: "image" | "audio" | "file";
  file: string;
  name: string;
  media_type: string;
  size?: number;
}

/** A file that somebody attached; its bytes are kept under `key` until the server has it as `part`. */
interface Attached {
  key: string;
  name: string;
  media_type: string;
  size: number;
  part?: FilePart;
  /** Why it cannot be sent, and if so, what the server said. */
  problem?: string;
  refusal?: string;
  /** Whether the server may say something else later. */
  mayPass?: boolean;
  /** The server had it and has it no more. */
  isAgain?: boolean;
}

/** A message on its way to the server. */
interface OutboxItem extends Place {
  key: string;
  at: number;
  state: "waiting" | "stale" | "refused";
  conversation: string;
  content: string;
  attached?: Attached[];
  /** Of the conversation that is created with it. */
  settings?: { assistant?: string; model?: string; system?: string; metadata?: Record<string, unknown> };
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
  parts: FilePart[];
  parent?: number | null;
}

interface Assistant {
  name: string;
  description: string;
  examples: string[];
  model: string | null;
  states?: string[];
  context: { window: string | null; size: number };
}

interface Models {
  default: { name: string; reason?: string; missing?: string } | null;
  data: string[];
  asking?: boolean;
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
  steps: { reload?: boolean; kill?: boolean; wait?: boolean; write?: boolean; checked?: boolean };
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
declare const SHELL: { version: string; root: string; files: string[] };

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
  katex: { render(text: string, box: HTMLElement, options: object): void };
  DOMPurify: (window: Window) => { setConfig(rules: object): void; sanitize(markup: string): DocumentFragment | null };
}
