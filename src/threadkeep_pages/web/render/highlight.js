// Colours for code, loaded when the first block of code asks for them: the highlighter once, each language once. One block
// is coloured at a time, with a rest after each moment of work.

import { isDeeper } from "./depth.js";
import { sanitiseColours } from "./sanitise.js";

const HOME = "../vendor/highlightjs-11.12.0";
const LONGEST = 30_000;
const DEEPEST = 100; // comments in comments: nobody writes more, and the browser would take seconds
const SLICE = 12;
const LANGUAGES = {
  bash: ["sh", "shell", "zsh", "console"],
  c: ["h"],
  clojure: ["clj"],
  cmake: [],
  cpp: ["c++", "cc", "hpp"],
  csharp: ["cs", "c#"],
  css: [],
  dart: [],
  diff: ["patch"],
  dockerfile: ["docker"],
  elixir: ["ex", "exs"],
  fsharp: ["fs", "f#"],
  go: ["golang"],
  graphql: ["gql"],
  groovy: ["gradle"],
  haskell: ["hs"],
  ini: ["toml", "cfg", "conf"],
  java: [],
  javascript: ["js", "jsx", "mjs"],
  json: ["jsonl", "json5"],
  julia: ["jl"],
  kotlin: ["kt", "kts"],
  latex: ["tex"],
  less: [],
  lua: [],
  makefile: ["make", "mk"],
  markdown: ["md"],
  matlab: ["octave"],
  nginx: [],
  objectivec: ["objc", "objective-c"],
  ocaml: ["ml"],
  perl: ["pl"],
  php: [],
  powershell: ["ps1", "pwsh"],
  protobuf: ["proto"],
  python: ["py", "python3"],
  r: [],
  ruby: ["rb"],
  rust: ["rs"],
  scala: [],
  scss: ["sass"],
  sql: ["postgresql", "sqlite", "psql"],
  swift: [],
  typescript: ["ts", "tsx"],
  vim: ["viml"],
  xml: ["html", "svg", "xhtml"],
  yaml: ["yml"],
};
const NAMES = new Map(
  Object.entries(LANGUAGES).flatMap(([name, others]) => [name, ...others].map((other) => [other, name])),
);

const loading = new Map();

function load(path) {
  if (!loading.has(path))
    loading.set(
      path,
      import(path).then((module) => module.default),
    );
  return loading.get(path);
}

async function highlighter(name) {
  const [hljs, grammar] = await Promise.all([load(`${HOME}/core.js`), load(`${HOME}/languages/${name}.js`)]);
  if (!hljs.getLanguage(name)) hljs.registerLanguage(name, grammar);
  return hljs;
}

/** @type {HTMLElement[]} */
const waiting = [];

/** Colour a `code` element in a moment, by the language that it names, if it is a known one. */
export function highlight(code) {
  if (!NAMES.has((code.dataset.lang ?? "").toLowerCase())) return;
  waiting.push(code);
  if (waiting.length === 1) setTimeout(colourAll);
}

async function colourAll() {
  let begun = performance.now();
  for (; waiting.length > 0; waiting.shift()) {
    await colour(waiting[0]);
    if (performance.now() - begun < SLICE) continue;
    await new Promise((resolve) => setTimeout(resolve));
    begun = performance.now();
  }
}

/** Nothing happens if loading fails, or where the text has changed meanwhile. */
async function colour(code) {
  const name = NAMES.get(code.dataset.lang.toLowerCase());
  const text = code.textContent;
  if (text.length > LONGEST) return;
  try {
    const hljs = await highlighter(name);
    const coloured = hljs.highlight(text, { language: name, ignoreIllegals: true }).value;
    if (code.textContent === text && !isDeeper(coloured, DEEPEST)) code.replaceChildren(sanitiseColours(coloured));
  } catch {
    loading.clear();
  }
}
