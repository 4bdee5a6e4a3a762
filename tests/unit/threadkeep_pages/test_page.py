"""The files of the page: small on the wire, checked against the browser's copy, complete without a network."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from threadkeep_pages.bundle import WEB
from threadkeep_pages.page import OWN_HEADERS, PageFiles, page_routes

URL = "http://127.0.0.1:8000"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    (tmp_path / "index.html").write_text('<script type="module" src="/static/whole.js"></script>')
    (tmp_path / "app.js").write_text('import { a } from "./parts/a.js";\nimport("./late.js");\n')
    (tmp_path / "parts" / "a.js").write_text('export { b } from "../b.js";\n')
    (tmp_path / "b.js").write_text('import{c}from"./c.js";export const b = c;')
    (tmp_path / "c.js").write_text("export const c = 1;")
    (tmp_path / "late.js").write_text("// only later")
    (tmp_path / "sw.js").write_text("self.x = SHELL;")
    return tmp_path


@pytest.fixture
async def client(folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    files = PageFiles(folder)
    app = FastAPI()
    app.include_router(page_routes(files))
    app.mount("/static", files)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=URL) as found:
        yield found


async def test_a_browser_that_takes_gzip_gets_it(client: httpx.AsyncClient, folder: Path) -> None:
    (folder / "b.js").write_text("// the same again\n" * 200)
    packed = await client.get("/static/b.js", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < 200
    plain = await client.get("/static/b.js", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.text == packed.text


async def test_a_picture_is_not_packed_twice(client: httpx.AsyncClient, folder: Path) -> None:
    (folder / "photo.png").write_bytes(gzip.compress(b"x"))
    answer = await client.get("/static/photo.png", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in answer.headers


async def test_only_the_frame_for_images_may_load_from_elsewhere_and_it_runs_nothing(
    client: httpx.AsyncClient, folder: Path
) -> None:
    (folder / "image.html").write_text("<body></body>")
    policy = (await client.get("/static/image.html")).headers["content-security-policy"]
    assert "img-src https: http:;" in policy
    assert "default-src 'none'" in policy
    assert "script" not in policy
    assert "content-security-policy" not in (await client.get("/static/c.js")).headers


async def test_a_file_that_the_browser_has_is_not_sent_again_until_it_changes(
    client: httpx.AsyncClient, folder: Path
) -> None:
    first = await client.get("/static/c.js")
    known = {"If-None-Match": first.headers["etag"]}
    assert (await client.get("/static/c.js", headers=known)).status_code == 304
    (folder / "c.js").write_text("export const c = 2;")
    again = await client.get("/static/c.js", headers=known)
    assert (again.status_code, again.text) == (200, "export const c = 2;")


@pytest.mark.parametrize(
    "path",
    ["/static/nothing.js", "/static/", "/static/parts", "/static/%2e%2e/etc/passwd", "/static/%00", "/static/%ff"],
)
async def test_anything_else_is_not_found(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 404


async def test_a_file_is_kept_once_under_whatever_name_it_is_asked_for(folder: Path) -> None:
    files = PageFiles(folder)
    assert len({id(files.file(f"{'parts/../' * times}b.js")) for times in range(50)}) == 1
    assert len(files._read) == 1
    assert files.worker() is files.worker()
    assert files.whole() is files.whole()


async def test_files_cannot_be_written(client: httpx.AsyncClient) -> None:
    answer = await client.post("/static/c.js")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


async def test_all_modules_that_are_needed_at_once_come_as_one(client: httpx.AsyncClient, folder: Path) -> None:
    whole = await client.get("/static/whole.js")
    assert whole.headers["content-type"] == "text/javascript; charset=utf-8"
    assert whole.text.count("const c = 1;") == 1
    assert "only later" not in whole.text
    (folder / "c.js").write_text("export const c = 3;")
    assert "const c = 3;" in (await client.get("/static/whole.js")).text


async def test_comments_are_left_out_of_what_is_loaded_at_once(client: httpx.AsyncClient, folder: Path) -> None:
    (folder / "c.js").write_text("// why\n/**\n * what * it is\n */\nexport const c = 1; // one\n  // more\nuse(c);\n")
    whole = (await client.get("/static/whole.js")).text
    assert "const c = 1;\nuse(c);" in whole
    assert "why" not in whole
    assert "what" not in whole


async def test_every_conversation_has_an_address_that_shows_the_page(client: httpx.AsyncClient) -> None:
    assert (await client.get("/c/abc")).text == (await client.get("/")).text


async def test_the_service_worker_knows_the_files_and_changes_with_each_of_them(
    client: httpx.AsyncClient, folder: Path
) -> None:
    async def shell() -> dict[str, object]:
        first = (await client.get("/sw.js")).text.partition("\n")[0]
        found: dict[str, object] = json.loads(first.removeprefix("const SHELL = ").removesuffix(";"))
        return found

    before = await shell()
    assert before["files"] == ["/", "/static/whole.js", "/static/whole.css", "/static/late.js"]
    assert await shell() == before
    versions = {before["version"]}
    for name in ("late.js", "c.js", "index.html", "sw.js"):
        (folder / name).write_text("// changed")
        versions.add((await shell())["version"])
    assert len(versions) == 5


def test_the_policy_of_the_frame_for_diagrams_names_its_script() -> None:
    document = (WEB / "diagram.html").read_text(encoding="utf-8")
    script = document.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in OWN_HEADERS["diagram.html"]["Content-Security-Policy"]


async def test_the_first_view_stays_small_and_without_what_is_loaded_later() -> None:
    files = PageFiles(WEB)
    app = FastAPI()
    app.include_router(page_routes(files))
    app.mount("/static", files)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=URL) as client:
        first = await client.get("/")
        paths = ["/", "/static/icons.svg", *re.findall(r'(?:src|href)="(/static/[^"]+)"', first.text)]
        answers = [await client.get(path, headers={"Accept-Encoding": "gzip"}) for path in paths]
    assert (
        sum(int(answer.raise_for_status().headers["content-length"]) for answer in answers) <= 165_000
    )  # and some for what the server says, of 170
    assert not any(word in answer.text for answer in answers for word in ("KaTeX parse error", "mermaid.initialize"))
