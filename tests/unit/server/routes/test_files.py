"""Files over HTTP: what is sent comes back byte for byte, to its owner alone, and no browser runs what is in it."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.integration.serving import PATIENCE, Server, serving
from threadkeep.conversation.api_key import KeyRole
from threadkeep.store.file_tables import CHUNK, FileUsage

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
LARGE = bytes(range(251)) * (3 * CHUNK // 251)
PAGE = b"<!doctype html><script>alert(document.domain)</script>"
PART = {"Upload-Complete": "?0"}


async def _upload(server: Server, data: Any, name: str = "cat.png", **headers: str) -> httpx.Response:
    return await server.client.post("/v1/files", params={"name": name}, content=data, headers=headers)


async def _usage(server: Server) -> FileUsage:
    return await server.conversations.files.usage("local")


async def test_a_file_is_uploaded_sent_and_given_back() -> None:
    async with serving() as server:
        made = await _upload(server, PNG, **{"Content-Type": "text/html"})
        file = made.json()
        assert made.status_code == 201
        assert made.headers["location"] == f"/v1/files/{file['id']}"
        assert {name: file[name] for name in ("type", "name", "media_type", "size", "sha256")} == {
            "type": "image",
            "name": "cat.png",
            "media_type": "image/png",
            "size": len(PNG),
            "sha256": hashlib.sha256(PNG).hexdigest(),
        }
        again = await _upload(server, PNG)
        assert (again.status_code, again.json()) == (200, file)
        path = await server.conversation()
        parts = [{"type": "text", "text": "What is it?"}, {"type": "image", "file": file["id"]}]
        sent = await server.client.post(f"{path}/messages", json={"content": parts})
        assert sent.json()["turn"]["state"] == "completed"
        shown = (await server.client.get(path)).json()["messages"][0]["parts"]
        known = {name: file[name] for name in ("type", "name", "media_type", "size", "sha256")}
        assert shown == [{"at": 11, "file": file["id"], **known}]
        got = await server.client.get(f"/v1/files/{file['id']}")
        assert (got.status_code, got.content) == (200, PNG)
        refused = await server.client.delete(f"/v1/files/{file['id']}")
        assert (refused.status_code, refused.json()["code"]) == (409, "file_in_use")


@pytest.mark.parametrize(
    ("data", "name", "told", "disposition"),
    [
        (PNG, "a.html", "image/png", "inline"),
        (PAGE, "a.png", "application/octet-stream", "attachment"),
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>", "a.png", "application/octet-stream", "attachment"),
        (b"%PDF-1.7", "ä “x”.pdf", "application/pdf", "attachment"),
        (b"ID3\x04", "a.mp3", "audio/mpeg", "inline"),
        (b"a,b\n1,2\n", "a.csv", "text/csv; charset=utf-8", "attachment"),
    ],
)
async def test_nothing_that_could_run_is_shown(data: bytes, name: str, told: str, disposition: str) -> None:
    async with serving() as server:
        id = (await _upload(server, data, name)).json()["id"]
        got = await server.client.get(f"/v1/files/{id}")
        assert got.headers["content-type"] in (told, told.partition(";")[0])
        assert got.headers["content-disposition"].startswith(f"{disposition}; filename=")
        assert got.headers["content-security-policy"] == "sandbox; default-src 'none'"
        assert got.headers["x-content-type-options"] == "nosniff"
        if "ä" in name:
            named = "filename=\"_ _x_.pdf\"; filename*=UTF-8''%C3%A4%20%E2%80%9Cx%E2%80%9D.pdf"
            assert got.headers["content-disposition"] == f"attachment; {named}"


async def test_parts_of_a_file_and_what_a_browser_has_already() -> None:
    async with serving() as server:
        path = f"/v1/files/{(await _upload(server, LARGE, 'x.bin')).json()['id']}"
        etag = (await server.client.head(path)).headers["etag"]
        whole = len(LARGE)
        for asked, status, start, end in (
            ("bytes=0-9", 206, 0, 10),
            (f"bytes={CHUNK - 5}-{CHUNK + 4}", 206, CHUNK - 5, CHUNK + 5),
            ("bytes=-7", 206, whole - 7, whole),
            (f"bytes={whole - 1}-", 206, whole - 1, whole),
            ("bytes=5-999999999999", 206, 5, whole),
            ("bytes=0-1,4-5", 200, 0, whole),
            ("bytes=9-5", 200, 0, whole),
            ("pages=1-2", 200, 0, whole),
            (f"bytes={whole}-", 416, 0, 0),
            ("bytes=-0", 416, 0, 0),
        ):
            got = await server.client.get(path, headers={"Range": asked})
            assert got.status_code == status, asked
            assert status == 416 or got.content == LARGE[start:end], asked
            if status == 206:
                assert got.headers["content-range"] == f"bytes {start}-{end - 1}/{whole}"
        head = await server.client.head(path)
        assert (head.status_code, head.headers["content-length"], head.content) == (200, str(whole), b"")
        for match, status in ((etag, 304), (f'"other", {etag}', 304), (f"W/{etag}", 304), ('"other"', 200)):
            assert (await server.client.get(path, headers={"If-None-Match": match})).status_code == status
        changed = {"Range": "bytes=0-9", "If-Range": '"other"'}
        assert (await server.client.get(path, headers=changed)).status_code == 200


async def test_an_upload_is_resumed_after_a_cut() -> None:
    async with serving() as server:
        begun = await _upload(server, LARGE[:1000], "x.bin", **PART)
        where = begun.headers["location"]
        assert (begun.status_code, begun.json()["offset"], begun.headers["upload-offset"]) == (201, 1000, "1000")
        assert (await server.client.head(where)).headers["upload-offset"] == "1000"
        wrong = await server.client.patch(where, content=LARGE, headers={"Upload-Offset": "7", **PART})
        assert (wrong.status_code, wrong.json()["code"]) == (409, "upload_mismatch")
        assert wrong.headers["upload-offset"] == "1000"
        more = await server.client.patch(where, content=LARGE[1000:CHUNK], headers={"Upload-Offset": "1000", **PART})
        assert (more.status_code, more.headers["upload-offset"]) == (204, str(CHUNK))
        rest = {"Upload-Offset": str(CHUNK), "Upload-Complete": "?1"}
        done = await server.client.patch(where, content=LARGE[CHUNK:], headers=rest)
        assert (done.status_code, done.json()["sha256"]) == (201, hashlib.sha256(LARGE).hexdigest())
        assert (await server.client.get(f"/v1/files/{done.json()['id']}")).content == LARGE
        assert (await server.client.head(where)).status_code == 404
        odd = await server.client.patch(where, content=b"x", headers={"Upload-Offset": "-1"})
        assert (odd.status_code, odd.json()["code"]) == (400, "invalid_value")
        other = await _upload(server, b"x", "y.bin", **PART)
        assert (await server.client.delete(other.headers["location"])).status_code == 204
        assert await _usage(server) == FileUsage(1, len(LARGE))


async def test_a_cut_upload_leaves_nothing() -> None:
    async with serving() as server:
        _, writer = await server.connect()
        head = f"POST /v1/files?name=x HTTP/1.1\r\nHost: {server.url[7:]}\r\nContent-Length: {len(LARGE)}\r\n\r\n"
        writer.write(head.encode() + LARGE[: CHUNK + 1])
        await writer.drain()
        async with asyncio.timeout(PATIENCE):
            while not (await _usage(server)).bytes:  # noqa: ASYNC110 - what is looked at is no event
                await asyncio.sleep(0)
            writer.transport.abort()
            while (await _usage(server)).bytes:  # noqa: ASYNC110 - what is looked at is no event
                await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("data", "name", "status", "code"),
    [
        (b"", "a", 400, "empty_file"),
        (b"x" * 5001, "a", 413, "file_too_large"),
        (PNG, "../a.png", 400, "invalid_part"),
        (PNG, "a\0.png", 400, "invalid_text"),
        (PNG, "a\u202egnp.exe", 400, "invalid_part"),
        (PNG, "a" * 10_000, 400, "invalid_part"),
    ],
)
async def test_what_is_refused_has_a_code_and_leaves_nothing(data: bytes, name: str, status: int, code: str) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield data

    async with serving(max_file_bytes=5000) as server:
        for sent in (data, pieces()):
            refused = await _upload(server, sent, name)
            assert (refused.status_code, refused.json()["code"]) == (status, code)
        assert await _usage(server) == FileUsage(0, 0)


async def test_messages_and_users_have_limits() -> None:
    async with serving(max_attached_bytes=3000, user_file_bytes=5000) as server:
        ids = [(await _upload(server, PNG, name)).json()["id"] for name in ("a.png", "b.png")]
        path = await server.conversation()
        parts = [{"type": "image", "file": id} for id in ids]
        sent = await server.client.post(f"{path}/messages", json={"content": parts})
        assert (sent.status_code, sent.json()["code"]) == (413, "attachments_too_large")
        full = await _upload(server, PNG, "c.png")
        assert (full.status_code, full.json()["code"]) == (429, "storage_full")
        me = (await server.client.get("/v1/me")).json()
        assert (me["max_file_bytes"], me["max_attached_bytes"]) == (20 * 1024 * 1024, 3000)


async def test_a_file_or_upload_of_somebody_else_is_missing() -> None:
    async with serving(auth="keys") as server:
        _, ada = await server.key("acme", "ada")
        file = (await _upload(server, PNG, **ada)).json()
        upload = (await _upload(server, PNG, **ada, **PART)).headers["location"]
        for tenant, name in (("acme", "bob"), ("globex", "ada")):
            _, other = await server.key(tenant, name)
            for method, path in (
                *((method, f"/v1/files/{file['id']}") for method in ("GET", "HEAD", "DELETE")),
                *((method, upload) for method in ("GET", "HEAD", "PATCH", "DELETE")),
            ):
                answer = await server.client.request(method, path, headers={**other, "Upload-Offset": "0"})
                assert answer.status_code == 404, (method, path)
            sent = await server.client.post(
                f"{(await server.client.post('/v1/conversations', headers=other)).headers['location']}/messages",
                json={"content": [{"type": "image", "file": file["id"]}]},
                headers=other,
            )
            assert (sent.status_code, sent.json()["code"]) == (404, "file_not_found")
            own = (await _upload(server, PNG, **other)).json()
            assert own["id"] != file["id"]
        assert (await server.client.get(f"/v1/files/{file['id']}", headers=ada)).content == PNG
        assert (await server.client.get(f"/v1/files/{file['id']}")).status_code == 401
        _, root = await server.key("acme", "root", KeyRole.ADMIN)
        usage = (await server.client.get("/v1/admin/usage", headers=root)).json()["tenant"]
        assert (usage["files"], usage["file_bytes"]) == (2, 2 * len(PNG))


async def test_what_a_message_cannot_refer_to_has_a_code_and_is_not_stored() -> None:
    async with serving() as server:
        page, gone = [(await _upload(server, data, "a.png")).json()["id"] for data in (PAGE, PNG)]
        other = await server.conversation()
        await server.client.post(f"{other}/messages", json={"content": [{"type": "image", "file": gone}]})
        await server.client.delete(other)
        path = await server.conversation()
        nested: dict[str, Any] = {}
        for _ in range(70):
            nested = {"a": nested}
        signed = {"type": "reasoning", "text": "hm", "payload": {"signature": "of another model"}}
        for part, status, code in (
            ({"type": "image", "file": page}, 400, "invalid_part"),
            ({"type": "image", "file": gone}, 404, "file_not_found"),
            ({"type": "image", "file": "file-nothing"}, 404, "file_not_found"),
            ({"file": page}, 400, "invalid_part"),
            ({"type": "data", "data": nested}, 400, "too_deep"),
            (signed, 400, "invalid_part"),
        ):
            said = [{"type": "text", "text": "look"}, part]
            refused = await server.client.post(f"{path}/messages", json={"content": said})
            assert (refused.status_code, refused.json()["code"]) == (status, code)
        many = [{"type": "hologram"}] * 101
        refused = await server.client.post(f"{path}/messages", json={"content": many})
        assert (refused.status_code, refused.json()["code"]) == (400, "too_many_parts")
        assert (await server.client.get(path)).json()["messages"] == []
        unknown = {"type": "hologram", "depth": 3}
        await server.client.post(f"{path}/messages", json={"content": [{"type": "text", "text": "look"}, unknown]})
        assert (await server.client.get(path)).json()["messages"][0]["parts"] == [{**unknown, "at": 4}]
