// The catalogues are complete but for what is named here, and no module of the page has a text of its own. Modules are read with
// the parser that node brings along; `--expose-internals` lets a test use it.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

import { problemText } from "../../../../src/threadkeep_pages/web/language.js";
import english from "../../../../src/threadkeep_pages/web/texts/en.js";

const { Parser } = createRequire(import.meta.url)("internal/deps/acorn/acorn/dist/acorn");
const WEB = new URL("../../../../src/threadkeep_pages/web/", import.meta.url);
const APART = /^(vendor|texts|client)\/|^sw\.js$|^preact\.js$/;
const MODULES = readdirSync(WEB, { recursive: true }).filter((name) => name.endsWith(".js") && !APART.test(name));
const LANGUAGES = readdirSync(new URL("texts", WEB)).map((name) => name.replace(".js", ""));
const source = (name) => readFileSync(new URL(name, WEB), "utf8");

const READ = /\s(?:aria-label|aria-description|title|placeholder|label|alt|note|empty|spoken)="([^"]*)"/g;
const NAMES = /^(?:Threadkeep|English|Deutsch|Notification|Files|tk_…|Enter|Esc|Escape|Tab|Shift|Alt|Ctrl)$/;
// Words that programs tell each other, and what is sent to a server or copied for a program.
const INTERNAL = new Set([
  "caught up",
  "signed out",
  "reload list",
  "refused: a person did not allow this call",
  "the turn was stopped before a person decided",
  "noopener noreferrer nofollow",
  "import json",
  "import os",
  "strong em b i s u del ins mark small sub sup kbd",
]);
const SENTENCE = /^[A-Z][a-z]+(?:[ .,:!?…]|$)|^[a-z]+ [a-z]+(?: [a-z]+)*[ .…]?$|[a-z]{2} [a-z]+[.!?…]$/;
const SELECTS = /^(?:querySelector|querySelectorAll|closest|matches)$/;

// What only a program meets that asks for what the page never asks for, or asks in another way.
const NEVER_HERE = new Set(
  `already_exists draft_mismatch file_in_use foreign_host foreign_origin head_too_large illegal_transition invalid_cursor
  invalid_http invalid_limit invalid_parent invalid_part invalid_store_url lease_lost method_not_allowed
  range_not_satisfiable too_deep turn_over unknown_role unsupported_media_type`.split(/\s+/),
);

test("every problem that somebody at the page can meet is told in every language", () => {
  const page = readFileSync(new URL("../../../docs/reference/http-api.md", WEB), "utf8");
  const codes = [...page.matchAll(/^\| \d{3} \| `(\w+)` \|/gm)].map(([, code]) => code);
  assert.ok(codes.length > 90);
  assert.deepEqual(
    codes.filter((code) => !problemText({ code })),
    codes.filter((code) => NEVER_HERE.has(code)),
  );
});

// The languages that we keep complete. Any other file is a language, too, and what it lacks is shown in English.
const COMPLETE = new Set(["en", "de", "fr", "es", "ja", "ar"]);

test("our languages have every text, and every language has the same places for values", async () => {
  const holes = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();
  for (const language of LANGUAGES) {
    const { default: texts } = await import(`${WEB}texts/${language}.js`);
    const absent = Object.keys(english).filter((key) => !Object.hasOwn(texts, key));
    assert.ok(texts.languageName, language);
    if (COMPLETE.has(language)) assert.deepEqual(absent, [], language);
    assert.deepEqual(
      Object.keys(texts).filter((key) => !Object.hasOwn(english, key)),
      [],
      language,
    );
    const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions();
    for (const [key, found] of Object.entries(texts)) {
      const wanted = english[key];
      assert.equal(typeof found, typeof wanted, `${language} ${key}`);
      const forms = typeof found === "string" ? { other: found } : found;
      const needed = typeof found === "string" ? ["other"] : pluralCategories;
      // Languages whose only other form is that for whole millions use the general one there.
      const missing = needed.filter((form) => !(form in forms) && !(form === "many" && language !== "ar"));
      assert.deepEqual(missing, [], `${language} ${key}`);
      const same = holes(wanted.other ?? wanted);
      assert.deepEqual(holes(forms.other), same, `${language} ${key}`);
      // "One message" needs no number.
      const kept = same.filter((name) => name !== "n");
      for (const form of Object.values(forms))
        assert.deepEqual(
          holes(form).filter((name) => name !== "n"),
          kept,
          `${language} ${key}: ${form}`,
        );
    }
  }
});

test("every text is used", () => {
  const all = MODULES.map(source).join("\n");
  const unused = Object.keys(english).filter(
    (key) => !/^(problem|effort|about|example)_|^(languageName|direction)$/.test(key) && !all.includes(`"${key}"`),
  );
  assert.deepEqual(unused, []);
});

test("no module has a text of its own", () => {
  const found = MODULES.flatMap((name) => textsIn(source(name)).map((text) => `${name}: ${text}`));
  assert.deepEqual(found, []);
});

test("no text has a line that begins with spaces, which the bundle takes away", () => {
  const indented = (name) => {
    const found = [];
    walk(Parser.parse(source(name), { ecmaVersion: "latest", sourceType: "module" }), null, (node, above) => {
      const spansLines = node.type === "TemplateLiteral" && above?.type !== "TaggedTemplateExpression";
      if (spansLines && node.quasis.some(({ value }) => /\n[ \t]/.test(value.raw))) found.push(name);
    });
    return found;
  };
  assert.deepEqual(MODULES.flatMap(indented), []);
});

test("a text in a module is found wherever it stands", () => {
  for (const code of [
    "html`<p>Some words</p>`",
    'html`<input placeholder="Search" onInput=${() => 1} />`',
    'html`<${Button} label="Retry" />`',
    'note("This went wrong.")',
    "note(`Deleted ${title} for good.`)",
    'const told = isDone ? "done by you" : ""',
  ])
    assert.notEqual(textsIn(code).length, 0, code);
  assert.deepEqual(
    textsIn('html`<p class="a b">${t("done")}</p>`; box.matches("form p"); const x = "message.sent";'),
    [],
  );
});

function textsIn(code) {
  const tree = Parser.parse(code, { ecmaVersion: "latest", sourceType: "module" });
  const found = [];
  walk(tree, null, (node, above) => {
    if (node.type === "TaggedTemplateExpression") found.push(...inTemplate(node.quasi.quasis));
    else if (node.type === "Literal" && typeof node.value === "string" && isText(node.value, above))
      found.push(node.value);
    else if (node.type === "TemplateLiteral" && above?.type !== "TaggedTemplateExpression")
      found.push(...node.quasis.map(({ value }) => value.cooked.trim()).filter((part) => isText(part, above)));
  });
  return found;
}

function walk(node, above, visit) {
  visit(node, above);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) if (child?.type) walk(child, node, visit);
  }
}

function isText(text, above) {
  if (INTERNAL.has(text) || NAMES.test(text) || !SENTENCE.test(text)) return false;
  if (above?.type === "ImportDeclaration" || above?.type === "ExportNamedDeclaration") return false;
  return !SELECTS.test(above?.callee?.property?.name ?? "");
}

// What stands between the tags of a template, and in the attributes that are read or heard.
function inTemplate(quasis) {
  const whole = quasis.map(({ value }) => value.cooked).join("\u0000");
  const heard = [...whole.matchAll(READ)].map(([, text]) => text);
  const seen = whole
    .replace(/<(code|kbd)\b[^>]*>.*?<\/\1>/gs, "")
    .replace(/<[^>]*>/g, "\u0000")
    .split("\u0000");
  return [...heard, ...seen].map((text) => text.trim()).filter((text) => /\p{L}/u.test(text) && !NAMES.test(text));
}
