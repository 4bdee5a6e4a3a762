// The conversation that is open: what is loaded of it, what is being written, and how it follows the log. Everything shown
// comes from the server; events are applied once a frame, so that a fast answer does not slow the page down.

import { Unreachable, conversationPath, get, needsKey, newKey, patch, post, put } from "./api.js";
import { MOST, ROOT, branched, joined, messageOf, parentOf, resultOf, upTo, withBlock } from "./branch.js";
import { copier } from "./copies.js";
import { announce, complain } from "./notices.js";
import * as outbox from "./outbox.js";
import { batch, computed, signal } from "./preact.js";
import { Stream } from "./stream.js";

const PAGE = 50;
const HIDDEN_FOR = 10_000;

export class OpenConversation {
  constructor(id, at = null) {
    this.id = id;
    this.about = signal(null); // title, model, status, … without messages
    this.phase = signal("loading"); // loading, ready, local (not sent yet), gone, away
    this.messages = signal([]);
    this.before = signal(null); // more to load above
    this.after = signal(null); // more to load below
    this.branch = signal(ROOT); // the newest entry of the branch that is shown
    this.head = signal(ROOT); // the newest entry of the branch that goes on
    this.draft = signal(null); // { id, turn, text } while an answer is written
    this.turns = signal({}); // { number: running | waiting | queued }
    this.queued = signal([]); // { turn, content }
    this.approvals = signal({}); // { tool_call_id: approved }
    this.state = signal({});
    this.readers = signal(1);
    this.failure = signal(null); // how the last turn failed
    this.cut = signal(null); // while a branch begins here: the entry that it continues
    this.target = signal(null); // { seq, isMarked }: the message to scroll to
    this.news = signal(null); // resumed, or caught up with n messages
    this.stream = signal(null);
    this.hasMoved = signal(false); // the conversation went on elsewhere while this branch was shown
    this.isBusy = computed(() => Object.values(this.turns.value).some((state) => state !== "queued"));
    this.isRunning = computed(() => Object.values(this.turns.value).includes("running"));
    this.isCurrent = computed(() => this.branch.value === this.head.value);
    this.matched = new Map(); // entry -> key of the message of ours that it is
    this.ownBranches = new Set();
    this.waitingEvents = [];
    this.keepCopy = copier(conversationPath(id), () => this.#copy());
    this.isOpen = true;
    this.onVisibility = () => this.#visibility();
    document.addEventListener("visibilitychange", this.onVisibility);
    if (outbox.isLocal(id)) this.phase.value = "local";
    else this.load(at);
  }

  close() {
    this.isOpen = false;
    document.removeEventListener("visibilitychange", this.onVisibility);
    clearTimeout(this.hiding);
    this.stream.value?.stop();
  }

  // Reading

  async load(at = null) {
    try {
      const page = await this.#page(at ? { around: at } : {});
      if (!this.isOpen) return;
      this.#show(page, at);
      this.#follow(page.cursor);
      if (this.isRunning.value) this.#tell({ kind: "resumed" });
    } catch (error) {
      if (this.isOpen) this.#cannotLoad(error, at);
    }
  }

  #page(query) {
    return get(conversationPath(this.id, "", { limit: PAGE, ...query }));
  }

  #cannotLoad(error, at) {
    if (at && (error.code === "entry_not_found" || error.status === 422)) return this.load();
    if (error.code === "conversation_not_found" || error.code === "invalid_id") this.phase.value = "gone";
    else if (error.status !== 401) {
      this.phase.value = this.about.value ? "ready" : "away";
      this.retry = setTimeout(() => this.isOpen && this.load(at), 2000);
    }
    return undefined;
  }

  #show(page, at = null, isMarked = true) {
    const { messages, before, after, turns, state, cursor, branch, draft, ...about } = page;
    batch(() => {
      this.about.value = about;
      this.messages.value = messages;
      this.before.value = before;
      this.after.value = after;
      this.head.value = about.head ?? ROOT;
      this.branch.value = branch ?? about.head ?? ROOT;
      this.turns.value = Object.fromEntries(turns.map((turn) => [turn.id, turn.state]));
      this.queued.value = turns.filter((turn) => turn.message).map((turn) => ({ turn: turn.id, content: turn.message.content }));
      this.state.value = state ?? {};
      this.draft.value = draft ?? null;
      this.cut.value = null;
      this.hasMoved.value = false;
      this.target.value = at ? { seq: at, isMarked } : null;
      this.phase.value = "ready";
    });
  }

  // What is shown, as the server would tell it, with the text that is being written.
  #copy() {
    if (!this.isCurrent.value || this.after.value !== null || this.phase.value !== "ready") return null;
    const turns = Object.entries(this.turns.value).map(([id, state]) => ({
      id: Number(id),
      state,
      message: this.queued.value.find((item) => item.turn === Number(id)) ?? null,
    }));
    const { about, messages, before, branch, head, draft, state } = this;
    const shown = { messages: messages.value, before: before.value, after: null, branch: branch.value, draft: draft.value };
    return { ...about.value, head: head.value, ...shown, turns, state: state.value, cursor: this.cursor };
  }

  // Shows the branch that holds an entry (none: the one that goes on), without choosing it for anybody else.
  async look(at = null, isMarked = false) {
    const meanwhile = (this.meanwhile = []);
    try {
      const page = await this.#page(at ? { around: at } : {});
      if (!this.isOpen || this.meanwhile !== meanwhile) return;
      const { turns, queued, draft } = this;
      const kept = [turns.value, queued.value, draft.value];
      batch(() => {
        this.#show(page, at, isMarked);
        // The events may be ahead of this page: what they told stays, what they brought is added.
        [turns.value, queued.value, draft.value] = kept;
        meanwhile.filter(([, data]) => data.seq > page.entries).forEach((event) => this.#take(...event));
      });
    } catch (error) {
      complain(error);
    } finally {
      if (this.meanwhile === meanwhile) this.meanwhile = null;
    }
  }

  async loadOlder() {
    const before = this.before.value;
    if (!before || this.loadingOlder) return;
    this.loadingOlder = true;
    try {
      const page = await this.#page({ before });
      if (!this.isOpen || this.before.value !== before) return;
      batch(() => {
        const all = joined(page.messages, this.messages.value);
        this.messages.value = all.slice(0, MOST);
        if (all.length > MOST) this.after.value = this.messages.value.at(-1).seq;
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
      const page = await this.#page({ around: after, head: this.branch.value, limit: PAGE * 2 });
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

  // Following

  #follow(cursor) {
    this.cursor = cursor;
    this.stream.value?.stop();
    this.stream.value = new Stream(conversationPath(this.id, "/events"), {
      cursor,
      onEvent: (name, data, place) => this.#receive(name, data, place),
      onOpen: (again) => {
        this.catchingUp = again || this.hasPaused ? { messages: 0, text: 0 } : null;
        this.hasPaused = false;
      },
      onEnd: (problem) => this.#sentAway(problem),
    });
  }

  #sentAway(problem) {
    if (problem.code === "not_authenticated" || problem.status === 401) needsKey.value = true;
    else if (problem.code === "invalid_cursor") this.load();
    else this.phase.value = "gone";
  }

  // A tab that nobody looks at and in which nothing happens gives its connection back: browsers allow six per server.
  #visibility() {
    clearTimeout(this.hiding);
    const stream = this.stream.value;
    if (document.hidden) {
      this.hiding = setTimeout(() => {
        if (this.isBusy.value || !stream || stream.isStopped) return;
        stream.stop();
        this.hasPaused = true;
      }, HIDDEN_FOR);
    } else if (this.hasPaused && stream) this.#follow(stream.cursor);
  }

  #receive(name, data, place) {
    this.waitingEvents.push([name, data, place]);
    if (this.waitingEvents.length > 1) return;
    const apply = () => {
      if (!this.waitingEvents.length) return;
      const events = this.waitingEvents;
      this.waitingEvents = [];
      batch(() => events.forEach((event) => this.#apply(...event)));
      this.keepCopy();
    };
    // Hidden pages get no frames.
    if (document.hidden) setTimeout(apply, 50);
    else {
      requestAnimationFrame(apply);
      setTimeout(apply, 200);
    }
  }

  #apply(name, data, place) {
    this.#take(name, data);
    if (PLACED.has(name)) this.meanwhile?.push([name, data]);
    // Inside of a text that is being written nobody can begin to read.
    if (place && !this.draft.value) this.cursor = place;
  }

  #take(name, data) {
    switch (name) {
      case "message.started":
        this.draft.value = { id: data.message, turn: data.turn, text: "" };
        break;
      case "text.delta":
        this.#write(data);
        break;
      case "message.completed":
        this.#complete(messageOf(data));
        break;
      case "tool.result":
        this.lastResult = data.seq;
        this.#place(resultOf(data));
        break;
      case "block.added":
        this.messages.value = withBlock(this.messages.value, this.lastResult, data.block);
        break;
      case "state.changed":
        this.#change(data);
        break;
      case "conversation.updated":
        this.#update(data);
        break;
      case "presence":
        this.readers.value = data.readers;
        this.#caughtUp();
        break;
      default:
        if (name.startsWith("turn.")) this.#turn(name.slice(5), data);
    }
  }

  #write({ message, text }) {
    if (this.catchingUp) this.catchingUp.text += text.length;
    const draft = this.draft.value;
    if (draft?.id === message) this.draft.value = { ...draft, text: draft.text + text };
  }

  #complete(message) {
    if (this.draft.value?.id === message.id) this.draft.value = null;
    if (message.role === "user") this.#match(message);
    if (this.catchingUp && !message.tool_calls.length) this.catchingUp.messages += 1;
    this.#place(message);
  }

  // Finds the message of ours that has arrived, so that it is not shown twice.
  #match(message) {
    const sent = outbox.taken.value.find((item) => item.conversation === this.id && item.turn === message.turn);
    if (sent) {
      outbox.arrived(sent.key);
      return;
    }
    const keys = new Set(this.matched.values());
    const mine = outbox.itemsOf(this.id).find((item) => item.content === message.content && !keys.has(item.key));
    if (mine) this.matched.set(message.seq, mine.key);
  }

  #place(message) {
    const list = this.messages.value;
    if (list.some((other) => other.seq === message.seq)) return;
    const wasCurrent = this.isCurrent.value;
    const place = parentOf(message);
    this.head.value = Math.max(message.seq, this.head.value);
    if (this.#isOurs(message) || place === this.branch.value || place === this.cut.value) {
      if (place === this.cut.value) this.cut.value = null;
      this.branch.value = message.seq;
      if (this.after.value === null) this.messages.value = branched(list, message);
    } else if (wasCurrent) this.hasMoved.value = true;
  }

  // Whether a message that begins another branch is one that was sent from this view.
  #isOurs(message) {
    const place = parentOf(message);
    if (!this.ownBranches.has(place)) return false;
    this.ownBranches.delete(place);
    return true;
  }

  #change({ set, unset, whole, seq, parent }) {
    this.head.value = Math.max(seq, this.head.value);
    if ((parent ?? ROOT) !== this.branch.value) return;
    this.branch.value = seq;
    const state = whole ? {} : { ...this.state.value };
    for (const name of unset) delete state[name];
    this.state.value = { ...state, ...set };
  }

  #update({ queued, turn, approval, head, seq, detail, ...fields }) {
    if (queued) {
      this.turns.value = { ...this.turns.value, [turn]: "queued" };
      this.queued.value = [...this.queued.value.filter((item) => item.turn !== turn), { turn, content: queued.content }];
    } else if (approval) {
      this.approvals.value = { ...this.approvals.value, [approval.tool_call_id]: approval.approved };
    } else if (head !== undefined) {
      this.hasMoved.value ||= this.isCurrent.value && (head ?? ROOT) !== this.branch.value;
      this.head.value = head ?? ROOT;
    }
    else this.about.value = { ...this.about.value, ...fields };
  }

  #turn(event, { turn, error, detail }) {
    const { [turn]: before, ...others } = this.turns.value;
    this.queued.value = this.queued.value.filter((item) => item.turn !== turn);
    if (event === "started") {
      this.turns.value = { ...others, [turn]: "running" };
      this.failure.value = null;
      if (before !== "running") {
        announce("The assistant is answering.");
        this.#checkPlace(turn);
      }
    } else if (event === "waiting") {
      this.turns.value = { ...others, [turn]: "waiting" };
      announce("A tool call waits for your approval.");
    } else {
      this.turns.value = others;
      if (this.draft.value?.turn === turn) this.draft.value = null;
      if (event === "failed") this.failure.value = { turn, error, detail };
      if (before) announce(ENDS[event] ?? "");
    }
  }

  // A turn that nothing on this branch began: somebody asks for another answer on another branch.
  async #checkPlace(turn) {
    const isHere = this.messages.value.some((message) => message.turn === turn);
    if (isHere || this.cut.value !== null || !this.isCurrent.value) return;
    try {
      const { head } = await this.#page({ limit: 1 });
      if (!this.isOpen || head === null || head >= this.branch.value) return;
      this.head.value = head;
      this.hasMoved.value = true;
    } catch {
      // the next entry tells it, too
    }
  }

  #caughtUp() {
    const { messages, text } = this.catchingUp ?? {};
    const was = this.catchingUp;
    this.catchingUp = null;
    if (!was) return;
    this.#tell(messages ? { kind: "caught up", messages } : { kind: "resumed", text });
  }

  #tell(news) {
    this.news.value = news;
    clearTimeout(this.newsTimer);
    this.newsTimer = setTimeout(() => {
      this.news.value = null;
    }, 6000);
  }

  // Writing

  // Where a message that is written now goes: the end of this branch, which must still be the end if it is the current one.
  place() {
    // Whoever did not choose to look at another branch is asked, after the server has refused this.
    if (this.hasMoved.value) return { expected_head: this.branch.value };
    if (!this.isCurrent.value) return { parent: this.branch.value };
    const isQuiet = !Object.keys(this.turns.value).length && !outbox.itemsOf(this.id).length;
    return isQuiet && this.branch.value !== ROOT ? { expected_head: this.branch.value } : {};
  }

  send(content) {
    const place = this.place();
    if (place.parent !== undefined) this.ownBranches.add(place.parent);
    if (this.after.value !== null && this.isCurrent.value) this.look();
    this.failure.value = null;
    outbox.add({ conversation: this.id, content, ...place });
  }

  // Sends another text in place of a message: a branch beside it.
  edit(message, content) {
    this.ownBranches.add(parentOf(message));
    this.cut.value = parentOf(message);
    outbox.add({ conversation: this.id, content, parent: message.parent });
  }

  async regenerate(message) {
    const question = this.questionOf(message);
    this.cut.value = question?.seq ?? null;
    if (question) this.ownBranches.add(question.seq);
    this.failure.value = null;
    try {
      const path = conversationPath(this.id, "/regenerate");
      await post(path, { entry: message.seq }, { key: newKey(), prefer: "respond-async" });
      if (question) this.head.value = this.branch.value = question.seq;
    } catch (error) {
      this.cut.value = null;
      complain(error);
    }
  }

  questionOf(message) {
    return upTo(this.messages.value, message.seq).findLast((other) => other.role === "user");
  }

  async stop() {
    try {
      await post(conversationPath(this.id, "/cancel"));
    } catch (error) {
      if (error.code !== "turn_not_found") complain(error);
    }
  }

  async approve(call, approved, reason) {
    try {
      const body = { tool_call_id: call.id, approved, ...(reason ? { reason } : {}) };
      await post(conversationPath(this.id, "/approve"), body, { key: newKey() });
      this.approvals.value = { ...this.approvals.value, [call.id]: approved };
    } catch (error) {
      complain(error);
    }
  }

  async change(fields) {
    try {
      const changed = await patch(conversationPath(this.id), fields);
      this.about.value = { ...this.about.value, ...changed };
    } catch (error) {
      complain(error);
    }
  }

  // The conversation went on elsewhere, and this branch is looked at all the same.
  stay() {
    this.hasMoved.value = false;
  }

  // Takes back a branch that was never sent.
  uncut() {
    this.cut.value = null;
  }

  // Makes the branch that is shown the one that goes on.
  async choose() {
    try {
      await put(conversationPath(this.id, "/head"), { head: this.branch.value });
      this.head.value = this.branch.value;
    } catch (error) {
      complain(error);
    }
  }
}

const PLACED = new Set(["message.completed", "tool.result", "state.changed"]);

const ENDS = {
  completed: "The answer is complete.",
  failed: "The answer failed.",
  cancelled: "The answer was stopped.",
  interrupted: "The answer was interrupted.",
};
