"""The key ring of the files store: a write that fails leaves what was there."""

from pathlib import Path

import pytest

from threadkeep.conversation.api_key import ApiKey, digest_of
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import ThreadkeepError
from threadkeep.runtime import open_store
from threadkeep.store import filesystem


def key(name: str) -> ApiKey:
    return ApiKey(id=name, digest=digest_of(name), hint="tk_", scope=LOCAL, created_at=utc_now())


async def test_keys_survive_a_write_that_was_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await open_store(f"files:///{tmp_path / 'data'}")
    await store.keyring.add(key("one"))

    def write_half(path: Path, data: bytes) -> None:
        path.write_bytes(data[: len(data) // 2])
        raise OSError(5, "cut off")

    with monkeypatch.context() as broken:
        broken.setattr(filesystem, "write_file", write_half)
        with pytest.raises(ThreadkeepError):
            await store.keyring.add(key("two"))
    await store.close()
    store = await open_store(f"files:///{tmp_path / 'data'}")
    assert [each.id for each in await store.keyring.all()] == ["one"]
    await store.keyring.add(key("two"))
    await store.close()
