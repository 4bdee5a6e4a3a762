// A Threadkeep server from a browser or from Node, without dependencies: ask, follow, resume, stop, approve.
//
//     const threadkeep = connect("https://chat.example", { token });
//     const conversation = await threadkeep.getOrCreate("my-chat");
//     for await (const event of conversation.send("Hello").events()) {
//       if (event.type === "text.delta") show(event.text);
//     }

import { Http, conversationPath, newKey, repeated, withQuery } from "./http.js";
import { OwnTurn } from "./loop.js";
import { Outbox } from "./outbox.js";
import { EVENTS, events, opened } from "./stream.js";

export { Http, Problem, Unreachable, newKey } from "./http.js";
export { OwnTurn } from "./loop.js";
export { Outbox, inMemory, inStorage } from "./outbox.js";
export { Stream } from "./stream.js";
export { View } from "./view.js";

/** @typedef {import("./api.js").components["schemas"]} Schemas */
/** @typedef {Schemas["ConversationEvent"] & { cursor?: string }} ConversationEvent */
/** @typedef {Schemas["ListEvent"]} ListEvent */
/** @typedef {Schemas["ShownConversation"]} Conversation */
/** @typedef {Schemas["WholeConversation"]} WholeConversation */
/** @typedef {Schemas["ShownMessage"]} Message */
/** @typedef {Schemas["Answered"]} Outcome */
/** @typedef {import("./http.js").HttpOptions} HttpOptions */

/**
 * What goes with a message. `parent` continues another entry than the head (null: none), `expected_head` refuses it if
 * the conversation has moved on; with the same `key`, or the same `id`, it is sent only once.
 * @typedef {{ parent?: number | null, expected_head?: number, policy?: "queue" | "reject" | "interrupt" | "rollback",
 *   key?: string, id?: string, tools?: Schemas["ClientTool"][], without_recall?: Schemas["LeftOut"][] }} Sending
 */

const ENDS = new Set(["turn.completed", "turn.failed", "turn.cancelled", "turn.interrupted", "turn.waiting"]);

/**
 * @param {string} [root] the address of the server; left out, that of the page
 * @param {HttpOptions} [options]
 */
export const connect = (root = "", options = {}) => new Client(new Http(root, options));

export class Client {
  /** @param {Http} http */
  constructor(http) {
    this.http = http;
  }

  /**
   * @param {Schemas["CreateBody"]} [fields]
   * @param {{ key?: string }} [options]
   */
  async create(fields = {}, { key = newKey() } = {}) {
    /** @type {Conversation} */
    const value = await repeated(() => this.http.call("POST", "/v1/conversations", { body: fields, key }));
    return new RemoteConversation(this.http, value.id, value);
  }

  /**
   * The conversation with an id of your own, which is created with `fields` if there is none.
   * @param {string} id
   * @param {Schemas["ChosenBody"]} [fields]
   */
  async getOrCreate(id, fields = {}) {
    /** @type {Conversation} */
    const value = await repeated(() => this.http.call("PUT", conversationPath(id), { body: fields }));
    return new RemoteConversation(this.http, value.id, value);
  }

  /** A conversation by its id, without asking. @param {string} id */
  conversation(id) {
    return new RemoteConversation(this.http, id);
  }

  /**
   * A page of the conversations, the pinned ones first, then the last active.
   * @param {Record<string, string | number | boolean>} [query]
   * @returns {Promise<Schemas["ConversationList"]>}
   */
  list(query = {}) {
    return this.http.call("GET", withQuery("/v1/conversations", query));
  }

  /**
   * @param {string} words
   * @param {Partial<Schemas["SearchBody"]>} [more]
   * @returns {Promise<Schemas["HitList"]>}
   */
  search(words, more = {}) {
    return this.http.call("POST", "/v1/search", { body: { q: words, ...more } });
  }

  /**
   * What happens in the list of conversations, for ever.
   * @param {{ signal?: AbortSignal }} [how]
   * @returns {AsyncGenerator<ListEvent, void, void>}
   */
  events(how = {}) {
    return events(this.http, opened(this.http, "/v1/events"), how);
  }

  /**
   * An outbox for messages `{ conversation, content, ... }`, which sends them one after the other.
   * @param {Omit<ConstructorParameters<typeof Outbox>[0], "send">} [how]
   */
  outbox(how = {}) {
    /** @param {any} item */
    const send = ({ conversation, content, parent, expected_head, key }) =>
      this.http.call("POST", conversationPath(conversation, "/messages"), {
        body: { content, parent, expected_head },
        key,
        prefer: "respond-async",
      });
    return new Outbox({ ...how, send });
  }
}

export class RemoteConversation {
  /**
   * @param {Http} http
   * @param {string} id
   * @param {Conversation | null} [value] as it was when it was created or got
   */
  constructor(http, id, value = null) {
    this.http = http;
    this.id = id;
    this.value = value;
  }

  /**
   * The conversation with a page of its messages: `limit`, `before`, `head`, `around`.
   * @param {{ limit?: number, before?: number | null, head?: number | null, around?: number }} [page]
   * @returns {Promise<WholeConversation>}
   */
  read(page = {}) {
    return this.http.call("GET", conversationPath(this.id, "", page));
  }

  /**
   * Sends a message. The turn runs whether you wait for it or not: `await` tells when the message is stored.
   * @param {string | Record<string, unknown>[]} content
   * @param {Sending} [how]
   */
  send(content, { key = newKey(), ...place } = {}) {
    return new Turn(this, "/messages", { content, ...place }, key);
  }

  /**
   * Answers again beside an answer (left out: the newest).
   * @param {number} [entry]
   * @param {Pick<Sending, "key" | "tools" | "without_recall">} [how]
   */
  regenerate(entry, { key = newKey(), ...how } = {}) {
    return new Turn(this, "/regenerate", { entry, ...how }, key);
  }

  /**
   * Begins a turn that a loop of your own runs, behind those that run or wait; without content it answers what the head
   * says.
   * @param {string | Record<string, unknown>[] | null} content
   * @param {Sending & { turn_id?: string }} [how]
   */
  async begin(content, { key = newKey(), ...place } = {}) {
    const body = { ...(content === null ? {} : { content }), ...place };
    const path = conversationPath(this.id, "/turns");
    let begun = await repeated(() => this.http.call("POST", path, { body, key }));
    if (begun.state === "queued") {
      const { cursor, turns } = await this.read({ limit: 1 });
      const follow = turns.some(({ id, state }) => id === begun.turn && state === "queued")
        ? this.follow({ cursor })
        : [];
      for await (const event of follow) if ("turn" in event && event.turn === begun.turn) break;
      begun = await repeated(() => this.http.call("POST", `${path}/${begun.turn}/lease`));
    }
    return new OwnTurn(this, begun);
  }

  /** Stops the turn that runs or waits, or the one of this number. @param {number} [turn] */
  stop(turn) {
    return this.http.call("POST", conversationPath(this.id, "/cancel", { turn }));
  }

  /**
   * Allows or refuses a tool call that waits for a person.
   * @param {string} call
   * @param {boolean} [approved]
   * @param {string} [reason]
   */
  approve(call, approved = true, reason) {
    const body = { tool_call_id: call, approved, ...(reason ? { reason } : {}) };
    return this.http.call("POST", conversationPath(this.id, "/approve"), { body, key: newKey() });
  }

  /**
   * Gives what a tool call returned that you run, or why it failed.
   * @param {string} call
   * @param {unknown} result
   * @param {string} [error]
   */
  giveResult(call, result, error) {
    const body = { tool_call_id: call, ...(error ? { error } : { result: result ?? null }) };
    return this.http.call("POST", conversationPath(this.id, "/result"), { body, key: newKey() });
  }

  /**
   * Changes title, metadata, status, archived, pinned, model or assistant.
   * @param {Schemas["PatchBody"]} fields
   * @param {{ version?: number }} [how]
   * @returns {Promise<Conversation>}
   */
  update(fields, { version } = {}) {
    return this.http.call("PATCH", conversationPath(this.id), { body: fields, version });
  }

  /** Lets the next message continue another entry. @param {number} head */
  chooseHead(head) {
    return this.http.call("PUT", conversationPath(this.id, "/head"), { body: { head } });
  }

  /** Deletes the conversation. */
  delete() {
    return this.http.call("DELETE", conversationPath(this.id));
  }

  /**
   * Everything that happens behind a cursor (left out: from now on; "0": from the beginning), for ever: across breaks,
   * without a gap and without a repeat. Each event that is in the log has the `cursor` behind it.
   * @param {{ cursor?: string, signal?: AbortSignal }} [how]
   * @returns {AsyncGenerator<ConversationEvent, void, void>}
   */
  async *follow({ cursor, signal } = {}) {
    const start = cursor ?? (await this.read({ limit: 1 })).cursor;
    yield* events(this.http, this.opened(), { cursor: start, signal });
  }

  opened() {
    return opened(this.http, conversationPath(this.id, "/events"));
  }
}

/** A message that was sent, and everything that is done to answer it. */
export class Turn {
  #sent;

  /**
   * @param {RemoteConversation} conversation
   * @param {string} path
   * @param {object} body
   * @param {string} key
   */
  constructor(conversation, path, body, key) {
    this.conversation = conversation;
    this.http = conversation.http;
    this.path = conversationPath(conversation.id, path);
    this.how = { body, key };
    this.#sent = repeated(() => this.http.call("POST", this.path, { ...this.how, prefer: "respond-async" }));
    this.#sent.catch(() => {}); // whoever asks is told
  }

  /** The number of the turn, as soon as its message is stored. @returns {Promise<number>} */
  get number() {
    return this.#sent.then((/** @type {Outcome} */ { turn }) => turn.id);
  }

  /** Waits until the turn has ended, or waits for a person. @returns {Promise<Outcome>} */
  async outcome() {
    for await (const _ of this.events());
    return repeated(() => this.http.call("POST", this.path, this.how));
  }

  /**
   * What happens until the turn ends or waits for a person, from its beginning on. A text that is whole by the time you
   * ask comes with `message.completed` alone.
   * @param {{ cursor?: string, signal?: AbortSignal }} [how]
   * @returns {AsyncGenerator<ConversationEvent, void, void>}
   */
  async *events({ cursor, signal } = {}) {
    const turn = await this.number;
    const go = this.conversation.opened();
    /** @type {import("./stream.js").Open} */
    const open = (place, ending) =>
      place
        ? go(place, ending)
        : this.http.request("POST", this.path, { ...this.how, headers: EVENTS, patience: 0, signal: ending });
    /** @param {any} event */
    const until = (event) => ENDS.has(event.type) && event.turn === turn;
    yield* events(this.http, open, { cursor, signal, until });
  }
}
