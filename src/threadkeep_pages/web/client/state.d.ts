// What is known of an open conversation, and what the server answers of one: see `reducer.js`.

export type TurnState = "running" | "waiting" | "queued";

/** A conversation as the list shows it; an open one has `system` and `metadata`, too. */
export interface About {
  id: string;
  name: string | null;
  assistant: string | null;
  title: string | null;
  model: string | null;
  status: string;
  archived: boolean;
  pinned: boolean;
  folder: string;
  temporary: boolean;
  version: number;
  head: number | null;
  entries: number;
  created_at: string;
  updated_at: string;
  system?: string | null;
  metadata?: Record<string, unknown>;
}

export interface ToolCall {
  id: string;
  name: string;
  args: Record<string, unknown>;
}

export interface ToolResult {
  tool_call_id: string;
  duration_ms: number | null;
  error: string | null;
}

/** A message with its place in the tree. */
export interface Message {
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
export interface Failure {
  code: string;
  detail: string;
}

/** A turn that is not over, as the server tells it. */
export interface Turn {
  id: number;
  state: TurnState;
  message?: { content: string; parts?: Record<string, any>[] } | null;
  calls?: string[];
  client_calls?: string[];
}

/** A page of a conversation; a copy that this browser kept may hold the text that was being written. */
export interface ConversationPage extends About {
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
export interface Draft {
  id: string;
  turn: number;
  text: string;
  /** What the model thinks before it speaks. */
  reasoning?: string;
}

/** What is known of an open conversation: see `reducer.js`. */
export interface ConversationState {
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
export interface ConversationEvent {
  name: string;
  data: any;
  cursor?: string;
  /** When it came. */
  at?: number;
}
