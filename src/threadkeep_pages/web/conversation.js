// The conversation that is open: holds what is known of it (`reducer.js`), reads pages, follows the log (`following.js`),
// and does what the person wants done with it.

import { Unreachable, conversationPath, get, needsKey, newKey, patch, post, put } from "./api.js";
import { ROOT, parentOf, upTo } from "./client/branch.js";
import { copier } from "./copies.js";
import { attachedFrom } from "./files.js";
import { Following } from "./following.js";
import { LeftOut } from "./leftout.js";
import { announce, complain } from "./notices.js";
import * as outbox from "./outbox.js";
import { computed, signal } from "./preact.js";
import { rememberFirst } from "./titles.js";
import { EMPTY, copyOf, isCurrent, reduce } from "./client/reducer.js";
import { t } from "./language.js";

const PAGE = 50;
const TOLD_FOR = 6000;
const PLACED = new Set(["message.completed", "tool.result", "state.changed"]);

/** @type {Record<string, TextKey>} */
const ENDS = {
  "turn.completed": "toldComplete",
  "turn.failed": "toldFailed",
  "turn.cancelled": "toldStopped",
  "turn.interrupted": "toldInterrupted",
};

export class OpenConversation {
  #now = signal(EMPTY);
  #isOpen = true;
  /** @type {number | undefined} */
  #newsTimer;
  /** @type {ConversationEvent[] | null} what came while a page is read */
  #meanwhile = null;
  #isLoadingOlder = false;
  #isLoadingNewer = false;

  /**
   * @param {string} id
   * @param {number | null} [at] the entry to go to
   */
  constructor(id, at = null) {
    this.id = id;
    /** @type {string | undefined} where following goes on after what is shown */
    this.cursor = undefined;
    /** @type {number | null} the entry whose branch is being read */
    this.sought = null;
    this.leftOut = new LeftOut();
    /** @type {Map<number, string>} entry -> key of the message of ours that it holds */
    this.matched = new Map();
    this.phase = this.#field("phase");
    this.about = this.#field("about");
    this.messages = this.#field("messages");
    this.before = this.#field("before");
    this.after = this.#field("after");
    this.branch = this.#field("branch");
    this.head = this.#field("head");
    this.draft = this.#field("draft");
    this.turns = this.#field("turns");
    this.queued = this.#field("queued");
    this.arrived = this.#field("arrived");
    this.waiting = this.#field("waiting");
    this.approvals = this.#field("approvals");
    this.state = this.#field("state");
    this.readers = this.#field("readers");
    this.spooled = this.#field("spooled");
    this.failure = this.#field("failure");
    this.note = this.#field("note");
    this.stopped = this.#field("stopped");
    this.retry = this.#field("retry");
    this.cut = this.#field("cut");
    this.target = this.#field("target");
    this.hasMoved = this.#field("hasMoved");
    this.news = this.#field("news");
    this.isBusy = computed(() => Object.values(this.turns.value).some((state) => state !== "queued"));
    this.isCurrent = computed(() => isCurrent(this.#now.value));
    this.keepCopy = copier(conversationPath(id), () => copyOf(this.#now.value, this.cursor));
    this.following = new Following(conversationPath(id, "/events"), {
      onEvents: (events) => this.#take(events),
      onOpen: (isAgain) => this.#change("stream.opened", { isAgain }),
      onEnd: (problem) => this.#sentAway(problem),
    });
    this.stream = this.following.stream;
    if (outbox.isLocal(id)) this.#change("phase.changed", { phase: "local" });
    else this.load(at);
  }

  close() {
    this.#isOpen = false;
    this.following.close();
  }

  /**
   * A part of what is known; it tells its readers only when it changes itself.
   * @template {keyof ConversationState} Name
   * @param {Name} name
   */
  #field(name) {
    return computed(() => this.#now.value[name]);
  }

  /**
   * @param {string} name
   * @param {any} [data]
   */
  #change(name, data = {}) {
    this.#now.value = reduce(this.#now.value, { name, data });
  }

  // Reading

  readPage(query) {
    return get(conversationPath(this.id, "", { limit: PAGE, ...query }));
  }

  /** @param {number | null} [at] */
  async load(at = null) {
    try {
      const page = await this.readPage(at ? { around: at } : {});
      if (!this.#isOpen) return;
      this.#change("page.shown", { page, at });
      this.#nameIt();
      this.#follow(page.cursor);
      if (Object.values(this.turns.value).includes("running")) this.#tell({ kind: "resumed" });
    } catch (error) {
      if (this.#isOpen) this.#cannotLoad(error, at);
    }
  }

  // Until there is a title, the first words are one.
  #nameIt() {
    const first = this.before.value === null && this.messages.value.find((message) => message.role === "user");
    if (first && !this.about.value?.title) rememberFirst(this.id, outbox.wordsOf(first));
  }

  #cannotLoad(error, at) {
    if (at && (error.code === "entry_not_found" || error.status === 422)) this.load();
    else if (error.code === "conversation_not_found" || error.code === "invalid_id") this.#phase("gone");
    else if (error.status !== 401) {
      this.#phase(this.about.value ? "ready" : "away");
      setTimeout(() => this.#isOpen && this.load(at), 2000);
    }
  }

  #phase(phase) {
    this.#change("phase.changed", { phase });
  }

  // Shows the branch that holds an entry (none: the one that goes on), without choosing it for anybody else.
  async look(at = null, isMarked = false) {
    /** @type {ConversationEvent[]} */
    const meanwhile = (this.#meanwhile = []);
    this.sought = at;
    try {
      const page = await this.readPage(at ? { around: at } : {});
      if (this.#isOpen && this.#meanwhile === meanwhile) this.#change("page.shown", { page, at, isMarked, meanwhile });
    } catch (error) {
      complain(error);
    } finally {
      if (this.#meanwhile === meanwhile) {
        this.#meanwhile = null;
        this.sought = null;
      }
    }
  }

  async loadOlder() {
    const before = this.before.value;
    if (!before || this.#isLoadingOlder) return;
    this.#isLoadingOlder = true;
    try {
      const page = await this.readPage({ before });
      if (this.#isOpen && this.before.value === before) this.#change("page.older", page);
    } catch (error) {
      if (!(error instanceof Unreachable)) complain(error);
    } finally {
      this.#isLoadingOlder = false;
    }
  }

  async loadNewer() {
    const after = this.after.value;
    if (!after || this.#isLoadingNewer) return;
    this.#isLoadingNewer = true;
    try {
      const page = await this.readPage({ around: after, head: this.branch.value, limit: PAGE * 2 });
      if (this.#isOpen && this.after.value === after) this.#change("page.newer", page);
    } catch (error) {
      if (!(error instanceof Unreachable)) complain(error);
    } finally {
      this.#isLoadingNewer = false;
    }
  }

  async loadAll() {
    const head = this.branch.value || null;
    let page = await this.readPage({ head, limit: 200 });
    const messages = page.messages;
    while (page.before) {
      page = await this.readPage({ head, before: page.before, limit: 200 });
      messages.unshift(...page.messages);
    }
    this.#change("page.whole", { messages });
  }

  // Following

  #follow(cursor) {
    this.cursor = cursor;
    this.following.follow(cursor);
  }

  #sentAway(problem) {
    if (problem.code === "invalid_cursor") this.load();
    else if (!needsKey.value) this.#phase("gone");
  }

  #take(events) {
    const before = this.#now.value;
    let now = before;
    for (const event of events) {
      this.#react(event, now);
      now = reduce(now, event);
      if (PLACED.has(event.name)) this.#meanwhile?.push(event);
      // Inside of a text that is being written nobody can begin to read.
      if (event.cursor && !now.draft) this.cursor = event.cursor;
    }
    this.#now.value = now;
    if (now.news && now.news !== before.news) this.#tell(now.news);
    this.keepCopy();
  }

  // What an event means beyond this conversation: for the outbox, and for whoever hears the page instead of seeing it.
  #react({ name, data }, { turns }) {
    const state = turns[data.turn];
    if (name === "message.completed" && data.message.role === "user")
      this.#match(data.seq, data.turn, data.message.content);
    else if (name === "turn.queued" && data.message) this.#match(data.seq, data.turn, data.message.content);
    else if (name === "turn.waiting") announce(t("toldApproval"));
    else if (name === "turn.retrying") announce(t("toldRetrying"));
    else if (name === "turn.started" && state !== "running") {
      announce(t("toldAnswering"));
      queueMicrotask(() => this.#checkPlace(data.turn)); // when the events that came together with it are known
    } else if (state && name in ENDS) announce(t(ENDS[name]));
  }

  // Finds the message of ours that has arrived, so that it is not shown twice.
  #match(place, turn, content) {
    const sent = outbox.taken.value.find((item) => item.conversation === this.id && item.turn === turn);
    if (sent) {
      outbox.arrived(sent.key);
      return;
    }
    // The event may be faster than the answer to the request.
    const keys = new Set(this.matched.values());
    const mine = outbox.itemsOf(this.id).find((item) => item.content === content && !keys.has(item.key));
    if (mine) this.matched.set(place, mine.key);
  }

  // A turn that nothing on this branch began: somebody asks for another answer on another branch.
  async #checkPlace(turn) {
    const isHere = this.messages.value.some((message) => message.turn === turn);
    if (isHere || this.cut.value !== null || !this.isCurrent.value) return;
    try {
      const { head } = await this.readPage({ limit: 1 });
      if (this.#isOpen && head !== null && head < this.branch.value) this.#change("branch.left", { head });
    } catch {
      // the next entry tells it, too
    }
  }

  #tell(news) {
    this.#change("news.told", { news });
    clearTimeout(this.#newsTimer);
    this.#newsTimer = setTimeout(() => this.#change("news.told", { news: null }), TOLD_FOR);
  }

  // Doing

  // Where a message that is written now goes: the end of this branch, which must still be the end if it is the current one.
  place() {
    // Whoever did not choose to look at another branch is asked, after the server has refused this.
    if (this.hasMoved.value) return { expected_head: this.branch.value };
    if (!this.isCurrent.value) return { parent: this.branch.value };
    const isQuiet = !Object.keys(this.turns.value).length && !outbox.itemsOf(this.id).length;
    return isQuiet && this.branch.value !== ROOT ? { expected_head: this.branch.value } : {};
  }

  /**
   * @param {string} content
   * @param {Attached[]} [attached]
   */
  send(content, attached) {
    const place = this.place();
    if (this.after.value !== null && this.isCurrent.value) this.look();
    this.#change("message.sent", { parent: place.parent, content });
    outbox.add({ conversation: this.id, content, attached, ...place, ...this.leftOut.take() });
  }

  // Sends another text in place of a message: a branch beside it.
  edit(message, content, attached) {
    this.#change("message.sent", { parent: parentOf(message), content, isCut: true });
    outbox.add({ conversation: this.id, content, attached, parent: message.parent, ...this.leftOut.take() });
  }

  async regenerate(message) {
    const question = upTo(this.messages.value, message.seq).findLast((other) => other.role === "user");
    this.#change("message.sent", { parent: question?.seq, content: null, isCut: Boolean(question) });
    try {
      const path = conversationPath(this.id, "/regenerate");
      await post(path, { entry: message.seq, ...this.leftOut.take() }, { key: newKey(), prefer: "respond-async" });
      if (question) this.#change("answer.begun", { question: question.seq });
    } catch (error) {
      this.uncut();
      complain(error);
    }
  }

  async stop() {
    try {
      await post(conversationPath(this.id, "/cancel"));
    } catch (error) {
      if (error.code !== "turn_not_found") complain(error);
    }
  }

  async withdraw(turn) {
    try {
      await post(conversationPath(this.id, "/cancel", { turn }));
      return true;
    } catch (error) {
      if (error.code !== "turn_not_found") complain(error);
      return false;
    }
  }

  // Lets a queued message be asked before the one that is before it: both, and all behind them, are taken back and sent again.
  async moveUp(turn) {
    const all = this.queued.value;
    const at = all.findIndex((item) => item.turn === turn);
    if (at < 1) return;
    const back = new Set();
    for (const item of all.slice(at - 1).reverse()) if (await this.withdraw(item.turn)) back.add(item);
    for (const item of [all[at], all[at - 1], ...all.slice(at + 1)]) {
      const attached = attachedFrom(item.parts);
      if (back.has(item)) outbox.add({ conversation: this.id, content: item.content, attached });
    }
  }

  async approve(call, approved, reason) {
    try {
      const body = { tool_call_id: call.id, approved, ...(reason ? { reason } : {}) };
      await post(conversationPath(this.id, "/approve"), body, { key: newKey() });
      this.#change("call.decided", { tool_call_id: call.id, approved });
    } catch (error) {
      complain(error);
    }
  }

  async change(fields) {
    try {
      this.#change("about.changed", await patch(conversationPath(this.id), fields));
    } catch (error) {
      complain(error);
    }
  }

  // Sends a message that was refused, because the conversation had moved on, as a branch at the place where it was written.
  branchOff(item) {
    this.#change("message.sent", { parent: item.expected_head, content: item.content });
    outbox.release(item, { expected_head: undefined, parent: item.expected_head });
  }

  // The conversation went on elsewhere, and this branch is looked at all the same.
  stay() {
    this.#change("branch.kept");
  }

  // Takes back a branch that was never sent.
  uncut() {
    this.#change("branch.dropped");
  }

  // Makes the branch that is shown the one that goes on.
  async choose() {
    const head = this.branch.value;
    try {
      await put(conversationPath(this.id, "/head"), { head });
      this.#change("branch.chosen", { head });
    } catch (error) {
      complain(error);
    }
  }

  // The message that was asked for is in view.
  reached() {
    this.#change("target.reached");
  }
}
