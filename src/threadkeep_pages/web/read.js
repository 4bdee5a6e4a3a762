// A conversation in a file of its own: an export, or what a link shows. It is the page's own drawing, read-only and without a
// server: the messages stand in the document as data, one script element each, and so does everything that is loaded later.

import { grouped } from "./client/branch.js";
import { date, loadLanguage, t } from "./language.js";
import { Component, html, render, useEffect, useState } from "./preact.js";
import { Bubble } from "./render/bubble.js";
import { Files } from "./render/files.js";
import { Ending, Turn, endingOf } from "./render/turn.js";

const AT_ONCE = 20; // groups of messages; the others follow in moments in which nothing else happens
const REST = 30;

function* messages() {
  for (const element of document.querySelectorAll("script[data-message]")) {
    yield JSON.parse(element.textContent ?? "");
    element.remove(); // what a long conversation holds is not held twice
  }
}

function Conversation({ groups }) {
  const [count, setCount] = useState(AT_ONCE);
  const isWhole = count >= groups.length;
  useEffect(() => {
    const all = () => setCount(groups.length);
    addEventListener("beforeprint", all);
    const timer = isWhole ? undefined : setTimeout(() => setCount(count + AT_ONCE), REST);
    return () => {
      removeEventListener("beforeprint", all);
      clearTimeout(timer);
    };
  }, [count]);
  return html`<div aria-busy=${isWhole ? undefined : "true"}>
    ${groups.slice(0, count).map((group) => html`<${Stored} key=${group.key} group=${group} />`)}
  </div>`;
}

// What is drawn is never drawn again: the groups that follow cost as much as the first ones.
class Stored extends Component {
  shouldComponentUpdate() {
    return false;
  }

  render({ group }) {
    return html`<${Group} group=${group} />`;
  }
}

function Group({ group: { kind, messages: all } }) {
  const [first, last] = [all[0], all.at(-1)];
  if (kind === "system") return html`<p class="system muted" dir="auto">${first.content}</p>`;
  if (kind === "user") {
    return html`<article class="said" aria-label=${t("user")}>
      <${Files} parts=${first.parts} />
      ${first.content && html`<${Bubble} text=${first.content} />`}
    </article>`;
  }
  const ending = endingOf(last);
  const models = new Set(all.map(({ model }) => model).filter(Boolean));
  return html`<article class="answer" data-state="done" aria-label=${t("answer")}>
    <${Turn} messages=${all} />
    ${ending && html`<${Ending} ending=${ending} />`}
    ${models.size > 0 && html`<footer class="actions"><span class="by">${[...models].join(" · ")}</span></footer>`}
  </article>`;
}

async function start() {
  await loadLanguage();
  for (const time of document.querySelectorAll("time")) {
    time.textContent = date(new Date(time.dateTime), { dateStyle: "long" });
  }
  const box = /** @type {HTMLElement} */ (document.getElementById("messages"));
  render(html`<${Conversation} groups=${grouped([...messages()])} />`, box);
}

start();
