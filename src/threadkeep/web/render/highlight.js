// Colours for code, loaded when the first block of code asks for them: the highlighter once, each language once.

import { sanitiseColours } from "./sanitise.js";

const HOME = "../vendor/highlightjs-11.12.0";
const LONGEST = 60_000;
const LANGUAGES = {
  bash: ["sh", "shell", "zsh", "console"],
  c: ["h"],
  cpp: ["c++", "cc", "hpp"],
  csharp: ["cs", "c#"],
  css: [],
  diff: ["patch"],
  dockerfile: ["docker"],
  go: ["golang"],
  ini: ["toml", "cfg", "conf"],
  java: [],
  javascript: ["js", "jsx", "mjs"],
  json: ["jsonl", "json5"],
  markdown: ["md"],
  python: ["py", "python3"],
  rust: ["rs"],
  sql: ["postgresql", "sqlite", "psql"],
  typescript: ["ts", "tsx"],
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

/** Colour a `code` element by the language that it names. Nothing happens for an unknown one or if loading fails. */
export async function highlight(code) {
  const name = NAMES.get((code.dataset.lang ?? "").toLowerCase());
  const text = code.textContent;
  if (!name || text.length > LONGEST) return;
  try {
    const hljs = await highlighter(name);
    const coloured = hljs.highlight(text, { language: name, ignoreIllegals: true }).value;
    if (code.textContent === text) code.replaceChildren(sanitiseColours(coloured));
  } catch {
    loading.clear();
  }
}
