// A turn that a loop of your own runs: what it writes is stored as it comes, and everybody who follows sees it.

import { Problem, conversationPath, newKey, repeated } from "./http.js";

/** @typedef {import("./api.js").components["schemas"]} Schemas */
/** @typedef {Schemas["EntriesBody"]["entries"][number]} Item */

// While a model or a tool takes its time, the turn is kept, and a stop is heard of, by asking; but not for ever, so that
// a turn that its loop has forgotten ends.
const SILENCE = 5000;
const MOST_ASKED = 360;

export class OwnTurn {
  #text = "";
  #offset = 0;
  /** @type {Promise<void> | null} */
  #writing = null;
  /** @type {any} */
  #failure = null;
  #over = new AbortController();
  /** @type {any} */
  #silence;

  /**
   * @param {import("./index.js").RemoteConversation} conversation
   * @param {Schemas["ShownLoop"]} begun
   */
  constructor(conversation, begun) {
    this.http = conversation.http;
    this.number = begun.turn;
    this.state = begun.state;
    this.headers = { "Turn-Token": begun.token ?? "" };
    this.path = (/** @type {string} */ verb) => conversationPath(conversation.id, `/turns/${begun.turn}/${verb}`);
    this.#offset = begun.draft?.offset ?? 0;
    this.#keep();
  }

  #keep(left = MOST_ASKED) {
    clearTimeout(this.#silence);
    const ask = () => this.#post("entries", { entries: [] }).then(() => this.#silence && this.#keep(left - 1), Boolean);
    this.#silence = left && setTimeout(ask, SILENCE);
    this.#silence?.unref?.();
  }

  /** Is aborted when somebody stops the turn, or it is not yours any more: give it to whatever your loop waits for. */
  get signal() {
    return this.#over.signal;
  }

  /**
   * More of the answer. It goes with what else is said until the request before it is answered, so a loop need not wait.
   * @param {string} text
   */
  text(text) {
    this.#text += text;
    this.#keep();
    this.#writing ??= this.#write();
    return this.#failure ? Promise.reject(this.#failure) : Promise.resolve();
  }

  async #write() {
    try {
      while (this.#text) {
        const body = { offset: this.#offset, text: this.#text };
        this.#text = "";
        this.#offset = (await this.#post("draft", body)).offset;
      }
    } catch (error) {
      this.#failure = error;
    }
    this.#writing = null;
  }

  /** Waits until everything that was said is stored. */
  async stored() {
    await this.#writing;
    if (this.#failure) throw this.#failure;
  }

  /**
   * A call of a tool: stored when the promise is kept, so that the tool may run. Returns its id.
   * @param {string} name
   * @param {Record<string, unknown>} [args]
   * @param {string} [id]
   */
  async call(name, args = {}, id = newKey()) {
    await this.add({ type: "call", id, name, args });
    return id;
  }

  /**
   * What a tool returned.
   * @param {string} call
   * @param {string} content
   * @param {string} [error]
   */
  result(call, content, error) {
    return this.add({ type: "result", call, content, error, blocks: [] });
  }

  /**
   * Adds calls, results, blocks, states, usage and whole messages, in order.
   * @param {...Item} entries
   * @returns {Promise<Schemas["Added"]>}
   */
  async add(...entries) {
    await this.stored();
    this.#keep();
    this.#offset = 0;
    return this.#post("entries", { entries }, newKey());
  }

  /**
   * Ends the turn, or lets it wait for a person to decide about `calls`.
   * @param {Schemas["SettleBody"]["state"]} [state]
   * @param {Partial<Omit<Schemas["SettleBody"], "state">>} [how]
   * @returns {Promise<Schemas["ShownLoop"]>}
   */
  async settle(state = "completed", how = {}) {
    await this.stored();
    this.#keep(0);
    return this.#post("settle", { state, ...how });
  }

  /**
   * @param {string} verb
   * @param {object} body
   * @param {string} [key]
   */
  async #post(verb, body, key) {
    try {
      return await repeated(() => this.http.call("POST", this.path(verb), { body, key, headers: this.headers }));
    } catch (error) {
      const isMissed = this.#silence || verb === "settle"; // a question that came behind the end is not
      if (isMissed && error instanceof Problem && error.status === 409) this.#over.abort(error);
      throw error;
    }
  }
}
