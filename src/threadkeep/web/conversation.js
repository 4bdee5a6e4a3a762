// The conversation that is open: follows its log while somebody looks, and does what the person wants done with it.

import { conversationPath, newKey, patch, post, put } from "./api.js";
import { ROOT, parentOf, upTo } from "./branch.js";
import { Followed } from "./followed.js";
import { complain } from "./notices.js";
import * as outbox from "./outbox.js";

const HIDDEN_FOR = 10_000;

export class OpenConversation extends Followed {
  constructor(id, at = null) {
    super(id);
    this.onVisibility = () => this.#visibility();
    document.addEventListener("visibilitychange", this.onVisibility);
    if (outbox.isLocal(id)) this.phase.value = "local";
    else this.load(at);
    this.#visibility(); // it may have been opened in the background
  }

  close() {
    this.isOpen = false;
    document.removeEventListener("visibilitychange", this.onVisibility);
    clearTimeout(this.hiding);
    this.stream.value?.stop();
  }

  // A tab that nobody looks at gives its connection back, because browsers allow six per server, and catches up later.
  #visibility() {
    clearTimeout(this.hiding);
    if (document.hidden) this.hiding = setTimeout(() => this.#rest(), HIDDEN_FOR);
    else if (this.hasPaused) this.follow(this.stream.value?.cursor);
  }

  #rest() {
    const stream = this.stream.value;
    if (!stream) this.#visibility(); // it is still loading
    else if (!stream.isStopped) {
      stream.stop();
      this.hasPaused = true;
    }
  }

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
    if (place.parent !== undefined) this.ownBranches.set(place.parent, content);
    if (this.after.value !== null && this.isCurrent.value) this.look();
    this.failure.value = null;
    outbox.add({ conversation: this.id, content, ...place });
  }

  // Sends another text in place of a message: a branch beside it.
  edit(message, content) {
    this.ownBranches.set(parentOf(message), content);
    this.cut.value = parentOf(message);
    outbox.add({ conversation: this.id, content, parent: message.parent });
  }

  async regenerate(message) {
    const question = this.questionOf(message);
    this.cut.value = question?.seq ?? null;
    if (question) this.ownBranches.set(question.seq, null);
    this.failure.value = null;
    try {
      const path = conversationPath(this.id, "/regenerate");
      await post(path, { entry: message.seq }, { key: newKey(), prefer: "respond-async" });
      // The question is the head now, unless the events have told more already.
      if (question && this.cut.value === question.seq) this.head.value = this.branch.value = question.seq;
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

  // Sends a message that was refused, because the conversation had moved on, as a branch at the place where it was written.
  branchOff(item) {
    this.ownBranches.set(item.expected_head, item.content);
    outbox.release(item, { expected_head: undefined, parent: item.expected_head });
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
