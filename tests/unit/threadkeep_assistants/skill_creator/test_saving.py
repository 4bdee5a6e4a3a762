"""Saving: whole or not at all, never outside, tenants apart, the same again is no error."""

import io
import os
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation.state import State
from threadkeep.errors import AlreadyExists, InvalidValue, NotAllowed
from threadkeep.tools.base import ToolContext, ToolOutcome
from threadkeep_assistants.skill_creator.document import document, templated_body, templated_resources
from threadkeep_assistants.skill_creator.saving import Place, erase_saved, save, saving_tool, zipped

FILES = {"SKILL.md": "---\nname: a\n---\nBody\n", "references/a.md": "A\n", "scripts/a.sh": "#!/bin/sh\n"}
VALUES: dict[str, Any] = {
    "purpose": "sort mail",
    "skill_name": "sort-mail",
    "description": "Sorts mail.",
    "reference_topics": ["folders"],
}


def place(root: Path, scope: Scope = LOCAL, layer: str = "personal") -> Place:
    return root, scope, layer


def stored(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


def test_a_skill_is_saved_with_all_its_files_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    saved = save(place(tmp_path), "notes", FILES, mark="1")
    assert saved == "local/personal/local/notes"
    assert stored(tmp_path / saved) == FILES
    assert os.listdir(tmp_path / "local/personal/local") == ["notes"]
    assert os.access(tmp_path / saved / "scripts/a.sh", os.X_OK)


def test_erasing_a_person_removes_personal_skills_and_the_name_on_shared_ones_and_nothing_of_others(
    tmp_path: Path,
) -> None:
    ada, bob = Scope(tenant="acme", user="ada"), Scope(tenant="acme", user="bob")
    for scope in (ada, bob):
        save(place(tmp_path, scope), "notes", FILES, mark="1")
        save(place(tmp_path, scope, "shared"), f"shared-{scope.user}", FILES, mark="1")
    assert erase_saved(tmp_path, ada) == 2
    assert not (tmp_path / "acme/personal/ada").exists()
    assert not any("ada" in text for path, text in stored(tmp_path).items() if path.endswith(".owner"))
    assert stored(tmp_path / "acme/personal/bob/notes") == FILES
    assert (tmp_path / "acme/shared/.shared-bob.owner").read_text() == "bob"
    assert erase_saved(tmp_path, ada) == 0


def test_erasing_follows_no_link(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    (tmp_path / "skills/acme/personal").mkdir(parents=True)
    (tmp_path / "skills/acme/personal/ada").symlink_to(elsewhere)
    with pytest.raises(InvalidValue):
        erase_saved(tmp_path / "skills", Scope(tenant="acme", user="ada"))
    assert (elsewhere / "kept").exists()


def test_a_skill_is_a_zip_of_its_folder_the_same_for_the_same_files() -> None:
    made = zipped("notes", FILES)
    with ZipFile(io.BytesIO(made)) as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == {
            f"notes/{path}": text for path, text in FILES.items()
        }
        assert archive.getinfo("notes/scripts/a.sh").external_attr >> 16 == 0o755
    assert zipped("notes", dict(reversed(FILES.items()))) == made


def test_the_same_files_again_change_nothing(tmp_path: Path) -> None:
    saved = save(place(tmp_path), "notes", FILES, mark="1")
    before = (tmp_path / saved).stat().st_ino
    assert save(place(tmp_path), "notes", FILES, mark="2") == saved
    assert (tmp_path / saved).stat().st_ino == before


def test_another_skill_of_that_name_is_not_touched_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    saved = save(place(tmp_path), "notes", {"SKILL.md": "mine", "references/old.md": "old"}, mark="1")
    with pytest.raises(AlreadyExists):
        save(place(tmp_path), "notes", FILES, mark="2")
    assert (tmp_path / saved / "SKILL.md").read_text() == "mine"
    assert save(place(tmp_path), "notes", FILES, mark="2", replace=True) == saved
    assert stored(tmp_path / saved) == FILES
    assert os.listdir(tmp_path / "local/personal/local") == ["notes"]


@pytest.mark.parametrize("name", ["..", "../x", "/etc", "a/b", "", "nul", ".hidden", "A", "a\x00b"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidValue):
        save(place(tmp_path / "skills"), name, FILES, mark="1")
    assert not (tmp_path / "skills").exists()


@pytest.mark.parametrize("path", ["../x", "references/../../x", "/etc/x", "x", "references/.x", "references\\x"])
def test_a_file_that_leads_elsewhere_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(InvalidValue):
        save(place(tmp_path / "skills"), "notes", {**FILES, path: "x"}, mark="1")
    assert not (tmp_path / "skills").exists()


@pytest.mark.parametrize("link", ["local", "local/personal", "local/personal/local", "local/personal/local/notes"])
def test_no_link_is_followed_on_the_way_down(tmp_path: Path, link: str) -> None:
    outside, root = tmp_path / "outside", tmp_path / "skills"
    outside.mkdir()
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(outside)
    with pytest.raises(InvalidValue, match="link"):
        save(place(root), "notes", FILES, mark="1", replace=True)
    assert list(outside.iterdir()) == []


def test_tenants_and_users_have_folders_of_their_own_and_share_only_what_is_shared(tmp_path: Path) -> None:
    scopes = [Scope(tenant=tenant, user=user) for tenant in ("acme", "other") for user in ("ann", "bob")]
    for layer in ("personal", "shared"):
        for scope in scopes:
            files = {"SKILL.md": scope.tenant if layer == "shared" else f"{scope.tenant} {scope.user}"}
            save(place(tmp_path, scope, layer), "notes", files, mark="1")
    assert {path: text for path, text in stored(tmp_path).items() if not path.endswith(".owner")} == {
        "acme/personal/ann/notes/SKILL.md": "acme ann",
        "acme/personal/bob/notes/SKILL.md": "acme bob",
        "acme/shared/notes/SKILL.md": "acme",
        "other/personal/ann/notes/SKILL.md": "other ann",
        "other/personal/bob/notes/SKILL.md": "other bob",
        "other/shared/notes/SKILL.md": "other",
    }


def test_a_shared_skill_is_replaced_only_by_who_saved_it(tmp_path: Path) -> None:
    ann, bob = (place(tmp_path, Scope(tenant="acme", user=user), "shared") for user in ("ann", "bob"))
    save(ann, "notes", {"SKILL.md": "of ann"}, mark="1")
    for replace in (False, True):
        with pytest.raises(NotAllowed, match="belongs to somebody else"):
            save(bob, "notes", {"SKILL.md": "of bob"}, mark="2", replace=replace)
    assert save(bob, "notes", {"SKILL.md": "of ann"}, mark="3"), "the same files change nothing"
    with pytest.raises(AlreadyExists):
        save(ann, "notes", {"SKILL.md": "new of ann"}, mark="4")
    save(ann, "notes", {"SKILL.md": "new of ann"}, mark="4", replace=True)
    assert (tmp_path / "acme/shared/notes/SKILL.md").read_text() == "new of ann"
    assert sorted(os.listdir(tmp_path / "acme/shared")) == [".notes.owner", "notes"]


def test_a_shared_skill_of_an_unknown_owner_stays(tmp_path: Path) -> None:
    skill = tmp_path / "local/shared/notes"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("older")
    with pytest.raises(NotAllowed):
        save(place(tmp_path, layer="shared"), "notes", FILES, mark="1", replace=True)
    assert stored(skill) == {"SKILL.md": "older"}


def test_a_layer_is_one_of_two(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="personal, shared"):
        save(place(tmp_path, layer="../x"), "notes", FILES, mark="1")


@pytest.mark.parametrize("verb", ["mkdir", "open", "fsync", "rename"])
@pytest.mark.parametrize("replace", [False, True])
def test_a_disk_that_fails_at_any_step_leaves_the_old_skill_or_the_new_one_and_a_second_try_works(
    tmp_path: Path, verb: str, replace: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = {"SKILL.md": "old"}
    where = tmp_path / "local/personal/local/notes"
    for moment in range(1, 40):
        if replace:
            save(place(tmp_path), "notes", old, mark="0", replace=True)
        elif where.exists():
            save(place(tmp_path), "gone", FILES, mark="0")
            os.rename(where, tmp_path / f"aside{moment}")
        failed = _failing(monkeypatch, verb, moment)
        try:
            save(place(tmp_path), "notes", FILES, mark="1", replace=replace)
        except (OSError, InvalidValue):
            found = stored(where) if where.exists() else {}
            assert found in ([old, FILES] if replace else [{}, FILES])
        monkeypatch.undo()
        save(place(tmp_path), "notes", FILES, mark="1", replace=replace)
        assert stored(where) == FILES
        assert not [name for name in os.listdir(where.parent) if name.startswith(".")]
        if not failed:
            return
    raise AssertionError("the moments never ended")


def _failing(monkeypatch: pytest.MonkeyPatch, verb: str, moment: int) -> list[bool]:
    """Let the n-th call of a function of the system fail; the list holds whether it did."""
    real, failed, left = getattr(os, verb), list[bool](), [moment]

    def fail(*arguments: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            failed.append(True)
            raise OSError(28, "No space left on device")
        return real(*arguments, **named)

    monkeypatch.setattr(os, verb, fail)
    return failed


async def _call(root: Path, values: dict[str, Any], call: str = "call_1", **args: Any) -> ToolOutcome:
    context = ToolContext(scope=LOCAL, conversation="c", turn=1, call_id=call, state=State(values=values))
    named = {"name": "sort-mail", "layer": "personal", **args}
    return await saving_tool(root).run(named, context)


def _written() -> dict[str, Any]:
    content = document(VALUES, templated_body(VALUES))
    return {**VALUES, "generated_content": content, "resources": templated_resources(VALUES)}


async def test_the_tool_saves_what_the_state_holds_and_may_run_again(tmp_path: Path) -> None:
    first = await _call(tmp_path, _written())
    again = await _call(tmp_path, _written())
    assert first.error is None
    assert first.content == again.content
    assert '"files":["SKILL.md","references/folders.md"]' in first.content
    assert str(tmp_path) not in first.content, "where this machine keeps things is nobody's business"


async def test_the_tool_tells_what_is_wrong(tmp_path: Path) -> None:
    assert '"problem":"failed"' in (await _call(tmp_path, {})).content
    await _call(tmp_path, _written())
    other = _written()
    other["resources"] = {"references/folders.md": "other"}
    assert '"problem":"taken"' in (await _call(tmp_path, other)).content
    assert (await _call(tmp_path, other, replace=True)).error is None
    (tmp_path / "file").write_text("x")
    assert '"problem":"failed"' in (await _call(tmp_path / "file", _written())).content
    assert (await _call(tmp_path, _written(), layer="elsewhere")).error is not None
