// A stream of server-sent events that comes back by itself, as the page sees it: what it does now is a signal.

import { http, needsKey } from "./api.js";
import { Stream as FollowingStream, opened } from "./client/stream.js";
import { signal } from "./preact.js";

export class Stream extends FollowingStream {
  /** @type {Signal<import("./client/stream.js").Status>} */
  status = signal({ state: "connecting" });

  // `onEvent(name, data, cursor)` gets every event, `onOpen(again)` is told of each connection, `onEnd(problem)` when the server
  // says that coming back is no use.
  /**
   * @param {string} path
   * @param {{
   *   cursor?: string,
   *   onEvent: (name: string, data: any, cursor: string | undefined) => void,
   *   onOpen?: (again: boolean) => void,
   *   onEnd?: (problem: any) => void,
   * }} how
   */
  constructor(path, { cursor, onEvent, onOpen, onEnd = () => {} }) {
    super(http, opened(http, path), {
      cursor,
      onEvent: ({ type, ...data }, place) => onEvent(type, data, place),
      onOpen,
      onEnd: (problem) => {
        if (problem.code === "not_authenticated") needsKey.value = true;
        onEnd(problem);
      },
      onStatus: (status) => {
        this.status.value = status;
      },
    });
  }
}
