// A conversation that follows its log: loads, connects, and applies every event. Events are applied once a frame, so that a
// fast answer does not slow the page down.

import { conversationPath, needsKey } from "./api.js";
import { ROOT, branched, messageOf, parentOf, resultOf, withBlock } from "./branch.js";
import { copier } from "./copies.js";
import { Loaded } from "./loaded.js";
import { announce, complain } from "./notices.js";
import * as outbox from "./outbox.js";
import { batch } from "./preact.js";
import { Stream } from "./stream.js";

export class Followed extends Loaded {
  constructor(id) {
    super(id);
    this.matched = new Map(); // entry -> key of the message of ours that it holds
    this.arrived = new Set(); // turns whose message has come, on whatever branch
    this.ownBranches = new Map(); // entry -> the text that this view sent to continue it; none for another answer
    this.waitingEvents = [];
    this.keepCopy = copier(conversationPath(id), () => this.copy());
  }

  // What a page holds has arrived, whether an event told of it or not.
  show(page, ...how) {
    for (const message of page.messages) if (message.role === "user") this.arrived.add(message.turn);
    super.show(page, ...how);
  }

  async load(at = null) {
    try {
      const page = await this.readPage(at ? { around: at } : {});
      if (!this.isOpen) return;
      this.show(page, at);
      this.follow(page.cursor);
      if (this.isRunning.value) this.#tell({ kind: "resumed" });
    } catch (error) {
      if (this.isOpen) this.#cannotLoad(error, at);
    }
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

  // Shows the branch that holds an entry (none: the one that goes on), without choosing it for anybody else.
  async look(at = null, isMarked = false) {
    const meanwhile = (this.meanwhile = []);
    try {
      const page = await this.readPage(at ? { around: at } : {});
      if (!this.isOpen || this.meanwhile !== meanwhile) return;
      const { turns, queued, draft } = this;
      const kept = { turns: turns.value, queued: queued.value, draft: draft.value };
      batch(() => {
        this.show(page, at, isMarked);
        // The events may be ahead of this page: what they told stays, what they brought is added.
        turns.value = kept.turns;
        queued.value = kept.queued;
        draft.value = kept.draft;
        meanwhile.filter(([, data]) => data.seq > page.entries).forEach((event) => this.#take(...event));
      });
    } catch (error) {
      complain(error);
    } finally {
      if (this.meanwhile === meanwhile) this.meanwhile = null;
    }
  }

  follow(cursor) {
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
    if (draft && draft.id === message) this.draft.value = { ...draft, text: draft.text + text };
  }

  #complete(message) {
    if (this.draft.value?.id === message.id) this.draft.value = null;
    if (message.role === "user") {
      this.#match(message.seq, message);
      this.queued.value = this.queued.value.filter((item) => item.turn !== message.turn);
    }
    if (this.catchingUp && !message.tool_calls.length) this.catchingUp.messages += 1;
    this.#place(message);
  }

  // Finds the message of ours that has arrived, so that it is not shown twice.
  #match(place, { turn, content }) {
    this.arrived.add(turn);
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
    const sent = this.ownBranches.get(place);
    const isOurs = sent === null ? message.role !== "user" : message.role === "user" && message.content === sent;
    if (isOurs) this.ownBranches.delete(place);
    return isOurs;
  }

  #change({ set, unset, whole, seq, parent }) {
    this.head.value = Math.max(seq, this.head.value);
    if ((parent ?? ROOT) !== this.branch.value) return;
    this.branch.value = seq;
    const state = whole ? {} : { ...this.state.value };
    for (const name of unset) delete state[name];
    this.state.value = { ...state, ...set };
  }

  #update({ queued, turn, approval, head, seq, detail: _, ...fields }) {
    if (queued) {
      this.#match(seq, { turn, content: queued.content });
      this.turns.value = { ...this.turns.value, [turn]: "queued" };
      this.queued.value = [
        ...this.queued.value.filter((item) => item.turn !== turn),
        { turn, content: queued.content },
      ];
    } else if (approval) {
      this.approvals.value = { ...this.approvals.value, [approval.tool_call_id]: approval.approved };
    } else if (head !== undefined) {
      this.hasMoved.value ||= this.isCurrent.value && (head ?? ROOT) !== this.branch.value;
      this.head.value = head ?? ROOT;
    } else this.about.value = this.about.value && { ...this.about.value, ...fields };
  }

  #turn(event, { turn, failure, calls }) {
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
      this.waiting.value = calls ?? [];
      announce("A tool call waits for your approval.");
    } else {
      this.turns.value = others;
      if (this.draft.value?.turn === turn) this.draft.value = null;
      if (event === "failed") this.failure.value = failure;
      if (before) announce(ENDS[event] ?? "");
    }
  }

  // A turn that nothing on this branch began: somebody asks for another answer on another branch.
  async #checkPlace(turn) {
    const isHere = this.messages.value.some((message) => message.turn === turn);
    if (isHere || this.cut.value !== null || !this.isCurrent.value) return;
    try {
      const { head } = await this.readPage({ limit: 1 });
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
}

const PLACED = new Set(["message.completed", "tool.result", "state.changed"]);

const ENDS = {
  completed: "The answer is complete.",
  failed: "The answer failed.",
  cancelled: "The answer was stopped.",
  interrupted: "The answer was interrupted.",
};
