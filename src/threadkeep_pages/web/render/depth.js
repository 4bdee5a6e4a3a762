// How deeply HTML is nested, before anything is made of it.

const TAG = /<(\/?)(?!br\b|hr\b)[a-z]/gi;

/** Whether some HTML, whose text is escaped, has more than so many tags inside of each other. One that is never closed counts. */
export function isDeeper(markup, most) {
  let depth = 0;
  for (const [, isEnd] of markup.matchAll(TAG)) {
    depth = Math.max(0, depth + (isEnd ? -1 : 1));
    if (depth > most) return true;
  }
  return false;
}
