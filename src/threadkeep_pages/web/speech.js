// Dictation and reading aloud, by the browser, where it has them. Both are off until somebody switches them on: some browsers
// send what is said to their makers.

import { t } from "./language.js";
import { note } from "./notices.js";
import { signal } from "./preact.js";
import { keep, kept } from "./shelf.js";

const LONGEST = 200; // characters that are read in one piece: some voices break off in longer ones

const Recognition =
  /** @type {any} */ (window).SpeechRecognition ?? /** @type {any} */ (window).webkitSpeechRecognition;

export const canDictate = Boolean(Recognition);
export const canRead = "speechSynthesis" in window;
/** @type {Signal<{ dictates: boolean, reads: boolean }>} */
export const wanted = signal({ dictates: false, reads: false });
/** @type {Signal<number | null>} */
export const reading = signal(null); // the entry that is read aloud
export const isListening = signal(false);

export function start() {
  wanted.value = kept("speech", wanted.value);
  addEventListener("pagehide", hush);
}

export function want(what) {
  wanted.value = what;
  keep("speech", what);
  if (!what.reads) hush();
}

/**
 * Reads a text aloud, which belongs to an entry; if that is being read, stops.
 * @param {number} entry
 * @param {string} text
 */
export function readAloud(entry, text) {
  const wasRead = reading.value === entry;
  hush();
  const pieces = text.match(new RegExp(`[^.!?…。！？\\n]{1,${LONGEST}}[.!?…。！？\\n]*`, "g")) ?? [];
  if (wasRead || !pieces.length) return;
  reading.value = entry;
  pieces.forEach((piece, place) => {
    const said = new SpeechSynthesisUtterance(piece);
    const isLast = place === pieces.length - 1;
    const end = () => reading.value === entry && (reading.value = null);
    if (isLast) said.addEventListener("end", end);
    said.addEventListener("error", end);
    speechSynthesis.speak(said);
  });
}

function hush() {
  reading.value = null;
  if (canRead) speechSynthesis.cancel();
}

/** @type {any} */
let listener = null;

/**
 * Listens and gives what it heard, piece by piece; if it listens already, stops.
 * @param {(text: string) => void} onText
 */
export function dictate(onText) {
  if (listener) return listener.stop();
  listener = new Recognition();
  listener.continuous = true;
  listener.lang = navigator.language;
  listener.addEventListener("result", ({ results, resultIndex }) => {
    for (const result of [...results].slice(resultIndex)) if (result.isFinal) onText(result[0].transcript.trim());
  });
  listener.addEventListener("error", ({ error }) => {
    if (error !== "aborted" && error !== "no-speech") note(t(WHY[error] ?? "dictationFailed"));
  });
  listener.addEventListener("end", () => {
    listener = null;
    isListening.value = false;
  });
  listener.start();
  isListening.value = true;
}

/** @type {Record<string, TextKey>} */
const WHY = {
  "not-allowed": "mayNotListen",
  "audio-capture": "noMicrophone",
  network: "dictationNeedsNetwork",
};
