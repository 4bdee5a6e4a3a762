// The messages of one branch as far as they are loaded, and how an entry that arrives fits in. Pure functions over frozen
// lists: along a branch the numbers of entries rise, so "before an entry" is "with a smaller number".

export const ROOT = 0;
export const MOST = 400; // messages in the page at a time; the rest is loaded again when it is scrolled to

export const parentOf = (message) => message.parent ?? ROOT;

// What an event of a finished message holds, as a message.
export function messageOf({ message, seq, parent, turn, created_at }) {
  return { ...message, seq, parent, turn, created_at, siblings: [seq], isNew: true };
}

// What an event of a tool's result holds, as a message.
export function resultOf({ tool_call_id, content, parts, duration_ms, error, seq, parent, turn, created_at }) {
  const tool_result = { tool_call_id, duration_ms, error };
  const place = { seq, parent, turn, created_at, siblings: [seq], isNew: true };
  return {
    id: `result-${seq}`,
    role: "tool",
    content,
    parts,
    tool_result,
    blocks: [],
    tool_calls: [],
    tool_trace: [],
    ...place,
  };
}

export const upTo = (messages, seq) => messages.filter((message) => message.seq <= seq);

// The list with a message that continues `parent` in place of what did so before.
export function branched(messages, message) {
  const beside = messages.find((other) => parentOf(other) === parentOf(message));
  const siblings = [...new Set([...(beside?.siblings ?? []), message.seq])].sort((one, other) => one - other);
  return [...upTo(messages, parentOf(message)), { ...message, siblings }];
}

export function withBlock(messages, seq, block) {
  return messages.map((message) =>
    message.seq === seq && message.isNew ? { ...message, blocks: [...message.blocks, block] } : message,
  );
}

// Two lists of one branch as one, each message once.
export function joined(older, newer) {
  const seen = new Set(older.map((message) => message.seq));
  return [...older, ...newer.filter((message) => !seen.has(message.seq))];
}

// What a program keeps in a message in which nobody speaks, such as the notes of a framework to itself.
function isSilent({ role, content, blocks, tool_calls, parts }) {
  const says = content || blocks?.length || tool_calls?.length;
  return role === "assistant" && !says && parts?.length > 0 && parts.every((part) => part.type === "raw");
}

// The messages in groups: what a person said, or everything that one turn answered.
export function grouped(messages) {
  const groups = [];
  for (const message of messages) {
    const last = groups.at(-1);
    const joins = last && last.kind === "answer" && last.turn === message.turn;
    if (message.role === "user" || message.role === "system") {
      groups.push({ kind: message.role, key: `m${message.seq}`, turn: message.turn, messages: [message] });
    } else if (joins) last.messages.push(message);
    else if (!isSilent(message)) {
      const key = `t${message.turn ?? message.seq}-${parentOf(message)}`;
      groups.push({ kind: "answer", key, turn: message.turn, messages: [message] });
    }
  }
  return groups;
}
