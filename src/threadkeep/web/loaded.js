// What is loaded of a conversation, and how more of it is: pages of the branch that is shown, as the server tells them. What
// happens meanwhile is the matter of `followed.js`, what the person does that of `conversation.js`.

import { Unreachable, conversationPath, get } from "./api.js";
import { MOST, ROOT, joined } from "./branch.js";
import { complain } from "./notices.js";
import { batch, computed, signal } from "./preact.js";

const PAGE = 50;

export class Loaded {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    /** @type {Signal<About | null>} */
    this.about = signal(null); // title, model, status, … without messages
    /** @type {Signal<"loading" | "ready" | "local" | "gone" | "away">} */
    this.phase = signal("loading"); // loading, ready, local (not sent yet), gone, away
    /** @type {Signal<Message[]>} */
    this.messages = signal([]);
    /** @type {Signal<number | null>} */
    this.before = signal(null); // more to load above
    /** @type {Signal<number | null>} */
    this.after = signal(null); // more to load below
    this.branch = signal(ROOT); // the newest entry of the branch that is shown
    this.head = signal(ROOT); // the newest entry of the branch that goes on
    /** @type {Signal<Draft | null>} */
    this.draft = signal(null); // { id, turn, text } while an answer is written
    /** @type {Signal<Record<string, TurnState>>} */
    this.turns = signal({}); // { number: running | waiting | queued }
    /** @type {Signal<{ turn: number, content: string }[]>} */
    this.queued = signal([]); // { turn, content }
    /** @type {Signal<string[]>} */
    this.waiting = signal([]); // ids of the tool calls that wait for a person
    /** @type {Signal<Record<string, boolean>>} */
    this.approvals = signal({}); // { tool_call_id: approved }
    /** @type {Signal<Record<string, unknown>>} */
    this.state = signal({});
    this.readers = signal(1);
    /** @type {Signal<Failure | null>} */
    this.failure = signal(null); // how the last turn failed
    /** @type {Signal<number | null>} */
    this.cut = signal(null); // while a branch begins here: the entry that it continues
    /** @type {Signal<{ seq: number, isMarked: boolean } | null>} */
    this.target = signal(null); // { seq, isMarked }: the message to scroll to
    /** @type {Signal<{ kind: "resumed" | "caught up", messages?: number } | null>} */
    this.news = signal(null); // resumed, or caught up with n messages
    /** @type {Signal<import("./stream.js").Stream | null>} */
    this.stream = signal(null);
    this.hasMoved = signal(false); // the conversation went on elsewhere while this branch was shown
    this.isBusy = computed(() => Object.values(this.turns.value).some((state) => state !== "queued"));
    this.isRunning = computed(() => Object.values(this.turns.value).includes("running"));
    this.isCurrent = computed(() => this.branch.value === this.head.value);
    this.isOpen = true;
    /** @type {string | undefined} where following goes on after what is shown */
    this.cursor = undefined;
  }

  readPage(query) {
    return get(conversationPath(this.id, "", { limit: PAGE, ...query }));
  }

  show(page, at = null, isMarked = true) {
    const { messages, before, after, turns, ended, state, cursor: _, branch, draft, ...about } = page;
    batch(() => {
      this.about.value = about;
      this.messages.value = messages;
      this.before.value = before;
      this.after.value = after;
      this.head.value = about.head ?? ROOT;
      this.branch.value = branch ?? about.head ?? ROOT;
      this.turns.value = Object.fromEntries(turns.map((turn) => [turn.id, turn.state]));
      this.waiting.value = turns.flatMap((turn) => turn.calls ?? []);
      this.queued.value = turns
        .filter((turn) => turn.message)
        .map((turn) => ({ turn: turn.id, content: turn.message.content }));
      this.failure.value = ended?.failure ?? null;
      this.state.value = state ?? {};
      this.draft.value = draft ?? null;
      this.cut.value = null;
      this.hasMoved.value = false;
      this.target.value = at ? { seq: at, isMarked } : null;
      this.phase.value = "ready";
    });
  }

  // What is shown, as the server would tell it, with the text that is being written.
  copy() {
    if (!this.isCurrent.value || this.after.value !== null || this.phase.value !== "ready") return null;
    const turns = Object.entries(this.turns.value).map(([id, state]) => ({
      id: Number(id),
      state,
      calls: state === "waiting" ? this.waiting.value : [],
      message: this.queued.value.find((item) => item.turn === Number(id)) ?? null,
    }));
    const { about, messages, before, branch, head, draft, state } = this;
    const shown = {
      messages: messages.value,
      before: before.value,
      after: null,
      branch: branch.value,
      draft: draft.value,
    };
    return { ...about.value, head: head.value, ...shown, turns, state: state.value, cursor: this.cursor };
  }

  async loadOlder() {
    const before = this.before.value;
    if (!before || this.loadingOlder) return;
    this.loadingOlder = true;
    try {
      const page = await this.readPage({ before });
      if (!this.isOpen || this.before.value !== before) return;
      batch(() => {
        const all = joined(page.messages, this.messages.value);
        this.messages.value = all.slice(0, MOST);
        if (all.length > MOST) this.after.value = all[MOST - 1].seq;
        this.before.value = page.before;
      });
    } catch (error) {
      if (!(error instanceof Unreachable)) complain(error);
    } finally {
      this.loadingOlder = false;
    }
  }

  async loadNewer() {
    const after = this.after.value;
    if (!after || this.loadingNewer) return;
    this.loadingNewer = true;
    try {
      const page = await this.readPage({ around: after, head: this.branch.value, limit: PAGE * 2 });
      if (!this.isOpen || this.after.value !== after) return;
      batch(() => {
        const all = joined(this.messages.value, page.messages);
        this.messages.value = all.slice(-MOST);
        if (all.length > MOST) this.before.value = this.messages.value[0].seq;
        this.after.value = page.after;
      });
    } catch (error) {
      if (!(error instanceof Unreachable)) complain(error);
    } finally {
      this.loadingNewer = false;
    }
  }
}
