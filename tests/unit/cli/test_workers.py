"""What workers share: how many there are, and what is made for them and removed again."""

import os
import shutil

import pytest

from threadkeep.cli.workers import Shared, count_of, shared_by
from threadkeep.errors import InvalidValue
from threadkeep.settings import Settings


def test_auto_is_one_worker_for_each_core_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 2, 5}, raising=False)
    assert (count_of(Settings(workers="auto")), count_of(Settings(workers=2)), count_of(Settings())) == (3, 2, 1)


@pytest.mark.parametrize(("given", "reason"), [({"store": "memory:"}, "share memory"), ({"spool_dir": "s"}, "spool")])
def test_what_one_process_has_alone_is_refused_for_several(given: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidValue, match=f"{reason}.*--workers 1"):
        count_of(Settings.model_validate({"workers": 2, **given}))
    assert count_of(Settings.model_validate(given)) == 1


def test_the_folder_of_their_numbers_goes_at_the_end_but_not_with_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, shared_by(2) as shared:
        patch.setattr(os, "getpid", lambda: -1)
    assert shared.folder is not None
    assert shared.folder.is_dir()
    shutil.rmtree(shared.folder)
    with shared_by(2) as shared:
        assert len(shared.ears) == 3
    assert shared.folder is not None
    assert not shared.folder.exists()


def test_who_serves_alone_has_no_channel_to_others() -> None:
    assert Shared().join(0) is None
