"""Changed settings on record: their names, once, and never their values."""

from pydantic import SecretStr

from threadkeep.runtime import open_unanswered
from threadkeep.server.settings_record import record_settings
from threadkeep.settings import Settings


async def test_settings_are_recorded_when_they_differ_from_those_of_the_last_start() -> None:
    async with await open_unanswered("memory:") as conversations:
        first = Settings(operator_tenant="operators", audit_key=SecretStr("a secret of the operator"))
        second = first.model_copy(update={"audit_days": 30.0, "audit_key": SecretStr("another secret of theirs")})
        for settings in (first, first, second, second):
            await record_settings(conversations, settings)
        begun, changed = [record.act for record in await conversations.admin.audit.read("operators")]
        assert set(begun.details["changed"]) == set(Settings.model_fields)
        assert changed.details["changed"] == ["audit_days", "audit_key"]
        assert (changed.action, changed.actor) == ("settings.changed", "system")
        assert "secret" not in changed.model_dump_json()


async def test_a_store_that_is_away_keeps_no_server_from_starting() -> None:
    conversations = await open_unanswered("memory:")
    await conversations.close()
    await record_settings(conversations, Settings())
