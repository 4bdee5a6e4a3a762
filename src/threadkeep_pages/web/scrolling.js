// Where the reader is in a long conversation: stays at the end while the end grows, holds the place while messages are
// loaded above, and asks for more before an edge is reached.

import { lead } from "./focus.js";

const NEAR_END = 60;
const NEAR_EDGE = 1200;

export class Scrolling {
  constructor(box, conversation, onAway) {
    this.box = box;
    this.conversation = conversation;
    this.onAway = onAway;
    this.isAtEnd = true;
    /** @type {{ seq: string | undefined, element: Element, top: number } | null} the first message in view, or a part of it */
    this.anchor = null;
    this.place = 0; // where the box was when it was last looked at
    // How wide the bar is cannot be said in CSS; a container that can costs a third more with every key that is typed.
    box.closest(".shell").style.setProperty("--bar", `${box.offsetWidth - box.clientWidth}px`);
    this.observer = new ResizeObserver(() => this.settle());
    this.observer.observe(box);
    this.observer.observe(box.firstElementChild);
    this.onScroll = () => this.#scrolled();
    box.addEventListener("scroll", this.onScroll, { passive: true });
  }

  leave() {
    this.observer.disconnect();
    this.box.removeEventListener("scroll", this.onScroll);
  }

  // After the list was drawn: goes to the message that was asked for, or holds the place.
  drawn() {
    const target = this.conversation.target.value;
    if (target && this.#show(target)) this.conversation.reached();
    else if (this.anchor) this.#hold(this.anchor);
    else this.settle();
    this.#note();
    this.#loadNearEdges();
  }

  settle() {
    if (this.isAtEnd && this.#hasLeft()) this.#scrolled();
    if (this.isAtEnd && this.conversation.after.value === null) this.#goToEnd();
    else if (this.anchor) this.#hold(this.anchor);
  }

  // Whether the reader has gone up, which the browser has not told yet.
  #hasLeft() {
    const { scrollTop, scrollHeight, clientHeight } = this.box;
    return scrollTop < this.place - 1 && scrollHeight - scrollTop - clientHeight >= NEAR_END;
  }

  #goToEnd() {
    this.box.scrollTop = this.box.scrollHeight;
    this.place = this.box.scrollTop;
  }

  // Scrolls to an entry, and marks one that was searched for; says whether it is there.
  #show({ seq, isMarked }) {
    const found = this.#element(seq);
    if (!found) return false;
    this.isAtEnd = false;
    this.anchor = null;
    found.scrollIntoView({ block: isMarked ? "center" : "nearest" });
    lead(found);
    if (isMarked) found.classList.add("found");
    setTimeout(() => found.classList.remove("found"), 2500);
    return true;
  }

  toEnd() {
    this.isAtEnd = true;
    this.anchor = null;
    this.#goToEnd();
  }

  #element(seq) {
    const all = [...this.box.querySelectorAll("[data-seq]")];
    return all.find((one) => Number(one.dataset.seq) >= seq) ?? null;
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.box;
    this.isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_END;
    this.#note();
    this.onAway(!this.isAtEnd || this.conversation.after.value !== null);
    this.#loadNearEdges();
  }

  // Remembers the first message that is in view, and where.
  #note() {
    this.place = this.box.scrollTop;
    const top = this.box.getBoundingClientRect().top;
    const inView = (all) => [...all].find((one) => one.getBoundingClientRect().bottom > top + 1);
    const first = this.isAtEnd ? null : inView(this.box.querySelectorAll("[data-seq]"));
    // The parts of a very long text get their height when they come into view.
    const element = first && (inView(first.querySelectorAll(".tk-part")) ?? first);
    this.anchor = element ? { seq: first.dataset.seq, element, top: element.getBoundingClientRect().top } : null;
  }

  #hold(anchor) {
    const isThere = anchor.element.isConnected;
    const found = isThere ? anchor.element : this.box.querySelector(`[data-seq="${anchor.seq}"]`);
    // What the reader has scrolled since is no reason to go back; what the end of a shorter list has pushed is one.
    const { scrollTop, scrollHeight, clientHeight } = this.box;
    const scrolled = scrollHeight - scrollTop - clientHeight < 1 ? 0 : scrollTop - this.place;
    const moved = found ? found.getBoundingClientRect().top - anchor.top + scrolled : 0;
    if (Math.abs(moved) > 1) this.box.scrollTop += moved;
    anchor.top -= scrolled;
    this.place = this.box.scrollTop;
  }

  #loadNearEdges() {
    const { scrollTop, scrollHeight, clientHeight } = this.box;
    if (scrollTop < NEAR_EDGE) this.conversation.loadOlder();
    if (scrollHeight - scrollTop - clientHeight < NEAR_EDGE) this.conversation.loadNewer();
  }
}
