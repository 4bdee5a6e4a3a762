"""Modules put together as one: each once, after those that it imports, and in no form that is not known."""

from html import unescape
from pathlib import Path

import pytest

from threadkeep_pages.bundle import assemble, languages, order


def test_every_file_of_texts_is_a_language(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for name, said in (("it", "Italiano"), ("en", "English"), ("de", "Deutsch")):
        (tmp_path / "texts" / f"{name}.js").write_text(f'export default {{\n  languageName: "{said}",\n}};\n')
    (tmp_path / "texts" / "none.js").write_text("export default {};\n")
    found = languages(lambda name: (tmp_path / name).read_text(), tmp_path)
    assert unescape(found) == '{"en": "English", "de": "Deutsch", "it": "Italiano"}'


def _assembled(**files: str) -> str:
    texts = {f"{name.replace('__', '/')}.js": text for name, text in files.items()}
    return assemble("app.js", texts.__getitem__)


def test_a_module_comes_after_what_it_imports_and_once() -> None:
    texts = {
        "app.js": 'import { a } from "./parts/a.js";\nimport { b } from "./b.js";',
        "parts/a.js": 'import { b } from "../b.js";\nexport const a = b;',
        "b.js": "export const b = 1;",
    }
    assert order("app.js", texts.__getitem__) == ["b.js", "parts/a.js", "app.js"]


def test_modules_that_import_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match=r"app.js -> a.js -> app.js"):
        _assembled(app='import { a } from "./a.js";', a='import { b } from "./app.js";')


@pytest.mark.parametrize(
    ("written", "bound"),
    [
        ('import { x, y as z } from "./a.js";', "const { x, y: z } = __module_0;"),
        ('import * as all from "./a.js";', "const all = __module_0;"),
        ('import made from "./a.js";', "const made = __module_0.default;"),
        ('import{n as t}from"./a.js";', "const {n: t} = __module_0;"),
    ],
)
def test_names_are_bound_to_what_the_module_returned(written: str, bound: str) -> None:
    assert bound in _assembled(app=written, a="export const x = 1;")


@pytest.mark.parametrize(
    ("written", "returned"),
    [
        ("export const a = 1;", "return { a: a };"),
        ("export function a() {}", "return { a: a };"),
        ("export async function a() {}", "return { a: a };"),
        ("export class A {}", "return { A: A };"),
        ("const t = 1;export{t as a};", "return { a: t };"),
        ("export default function () {}", "return { default: __default };"),
    ],
)
def test_a_module_returns_what_it_exports(written: str, returned: str) -> None:
    whole = _assembled(app='import * as a from "./a.js";', a=written)
    assert returned in whole
    assert "export" not in whole


def test_what_is_passed_on_is_taken_from_where_it_is() -> None:
    whole = _assembled(app='import { z } from "./a.js";', a='export { x as z } from "./b.js";', b="export const x = 1;")
    assert "return { z: __module_0.x };" in whole


def test_a_module_that_is_imported_for_what_it_does_runs_first() -> None:
    whole = _assembled(app='import "./a.js";\nrun();', a="prepare();")
    assert whole.index("prepare()") < whole.index("run()")


def test_a_late_import_is_found_from_where_it_was_written() -> None:
    whole = _assembled(app='import "./parts/a.js";', parts__a="load = (path) => import(path);")
    assert '__load("parts/a.js", path)' in whole


@pytest.mark.parametrize("written", ["export let a = 1;", 'import "elsewhere";', 'export * from "./b.js";'])
def test_a_form_that_is_not_known_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"a\.js imports or exports in a form that is not known"):
        _assembled(app='import "./a.js";', a=written, b="")
