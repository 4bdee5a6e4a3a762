// The shapes that the page's modules share, for `make check` alone: what the server answers (docs/reference/http-api.md)
// and what the page keeps of it. Everything here is global, so that a module names a type without importing it.

type Signal<Value> = import("@preact/signals").Signal<Value>;
type OpenConversation = import("./conversation.js").OpenConversation;

/** The name of a text in the catalogues. */
type TextKey = keyof typeof import("./texts/en.js").default;

/** A catalogue: texts with the forms for numbers that its language has. What is missing is shown in English. */
type Texts = Partial<Record<TextKey, string | Partial<Record<Intl.LDMLPluralRule, string>>>>;

// What the client knows of a conversation.
type TurnState = import("./client/state.js").TurnState;
type About = import("./client/state.js").About;
type ToolCall = import("./client/state.js").ToolCall;
type ToolResult = import("./client/state.js").ToolResult;
type Message = import("./client/state.js").Message;
type Failure = import("./client/state.js").Failure;
type Turn = import("./client/state.js").Turn;
type ConversationPage = import("./client/state.js").ConversationPage;
type Draft = import("./client/state.js").Draft;
type ConversationState = import("./client/state.js").ConversationState;
type ConversationEvent = import("./client/state.js").ConversationEvent;

/** Where a message goes that is sent: see "Sending" in the reference. */
interface Place {
  parent?: number | null;
  expected_head?: number;
  /** Entries that are not recalled for its answer. */
  without_recall?: { entry: number }[];
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
  /** Its bytes as a `data:` URI, where a conversation is a file of its own; empty where they did not come along. */
  src?: string;
}

/** How the parts of an answer are shown. */
interface Own {
  thoughts(message: any): unknown;
  text(message: any): unknown;
  files(parts: any[] | undefined): unknown;
  call(call: any, result: any, message: any): unknown;
  under(message: any): unknown;
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
  settings?: {
    assistant?: string;
    model?: string;
    system?: string;
    metadata?: Record<string, unknown>;
    temporary?: boolean;
  };
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
