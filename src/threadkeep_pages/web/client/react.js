// A hook for React: an open conversation that follows its log.
//
//     const { messages, draft, isBusy, send, stop } = useConversation(threadkeep, "my-chat");

import { useMemo, useSyncExternalStore } from "react";
import { View } from "./view.js";

/**
 * What is known of a conversation (`messages`, `draft`, `turns`, `waiting`, `failure` …), and what can be done with it.
 * It is read when the component is shown, and followed until it is not.
 * @param {import("./index.js").Client} client
 * @param {string} id
 * @returns {import("./state.js").ConversationState & { isBusy: boolean } & ReturnType<typeof verbsOf>}
 */
export function useConversation(client, id) {
  const view = useMemo(() => new View(client.conversation(id)), [client, id]);
  const state = useSyncExternalStore(
    view.subscribe,
    () => view.state,
    () => view.state,
  );
  const verbs = useMemo(() => verbsOf(view), [view]);
  return { ...state, isBusy: Object.values(state.turns).some((turn) => turn !== "queued"), ...verbs };
}

/** @param {View} view */
function verbsOf(view) {
  const { conversation } = view;
  return {
    conversation,
    send: view.send.bind(view),
    older: () => view.older(),
    stop: () => conversation.stop(),
    regenerate: () => conversation.regenerate(),
    approve: conversation.approve.bind(conversation),
  };
}
