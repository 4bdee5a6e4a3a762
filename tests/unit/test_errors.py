"""The error tree: stable codes, messages that a person can act on, one docstring that draws it all."""

import pytest

from threadkeep import errors
from threadkeep.errors import StaleHead, StaleVersion, ThreadkeepError
from threadkeep_assistants.demo.model import ScriptTimeout
from threadkeep_integrations.graphs.graph_agent import PauseUnsupported
from threadkeep_retrieval.errors import EmbeddingFailed, IndexUnusable, WrongEmbeddings

CODES = {
    "error": "ThreadkeepError",
    "invalid_input": "InvalidInput",
    "invalid_id": "InvalidId",
    "invalid_text": "InvalidText",
    "invalid_value": "InvalidValue",
    "unknown_role": "UnknownRole",
    "content_too_large": "ContentTooLarge",
    "metadata_too_large": "MetadataTooLarge",
    "system_too_large": "SystemTooLarge",
    "too_deep": "TooDeep",
    "invalid_part": "InvalidPart",
    "too_many_parts": "TooManyParts",
    "empty_file": "EmptyFile",
    "file_too_large": "FileTooLarge",
    "attachments_too_large": "AttachmentsTooLarge",
    "invalid_cursor": "InvalidCursor",
    "invalid_limit": "InvalidLimit",
    "invalid_search": "InvalidSearch",
    "invalid_parent": "InvalidParent",
    "invalid_store_url": "InvalidStoreUrl",
    "illegal_transition": "IllegalTransition",
    "invalid_period": "InvalidPeriod",
    "hold_on_nobody": "HoldOnNobody",
    "invalid_import": "InvalidImport",
    "unknown_format": "UnknownFormat",
    "import_damaged": "ImportDamaged",
    "import_too_large": "ImportTooLarge",
    "unsafe_archive": "UnsafeArchive",
    "not_found": "NotFound",
    "conversation_not_found": "ConversationNotFound",
    "entry_not_found": "EntryNotFound",
    "turn_not_found": "TurnNotFound",
    "key_not_found": "KeyNotFound",
    "share_not_found": "ShareNotFound",
    "hold_not_found": "HoldNotFound",
    "file_not_found": "FileNotFound",
    "upload_not_found": "UploadNotFound",
    "conflict": "Conflict",
    "already_exists": "AlreadyExists",
    "stale_head": "StaleHead",
    "stale_version": "StaleVersion",
    "idempotency_key_reused": "KeyReused",
    "conversation_busy": "ConversationBusy",
    "lease_lost": "LeaseLost",
    "draft_mismatch": "DraftMismatch",
    "import_conflict": "ImportConflict",
    "legal_hold": "LegalHold",
    "file_in_use": "FileInUse",
    "upload_mismatch": "UploadMismatch",
    "not_authenticated": "NotAuthenticated",
    "not_allowed": "NotAllowed",
    "limit_reached": "LimitReached",
    "rate_limited": "RateLimited",
    "too_many_turns": "TooManyTurns",
    "too_many_streams": "TooManyStreams",
    "too_many_conversations": "TooManyConversations",
    "storage_full": "StorageFull",
    "queue_full": "QueueFull",
    "stopping": "Stopping",
    "model_error": "ModelError",
    "model_unavailable": "ModelUnavailable",
    "model_rate_limited": "ModelRateLimited",
    "model_timeout": "ModelTimeout",
    "model_refused": "ModelRefused",
    "context_too_long": "ContextTooLong",
    "model_nonsense": "ModelNonsense",
    "script_timeout": "ScriptTimeout",
    "pause_unsupported": "PauseUnsupported",
    "unknown_model": "UnknownModel",
    "retrieval_failed": "RetrievalError",
    "index_unusable": "IndexUnusable",
    "wrong_embeddings": "WrongEmbeddings",
    "embedding_failed": "EmbeddingFailed",
    "package_missing": "PackageMissing",
    "store_error": "StoreError",
    "store_unavailable": "StoreUnavailable",
    "store_busy": "StoreBusy",
    "store_full": "StoreFull",
    "store_read_only": "StoreReadOnly",
    "store_denied": "StoreDenied",
    "store_corrupt": "StoreCorrupt",
    "store_too_new": "StoreTooNew",
    "store_too_old": "StoreTooOld",
    "store_not_migrated": "StoreNotMigrated",
    "spool_full": "SpoolFull",
}
"""Codes are for ever: a new error adds a line, and no line ever changes."""

CORE: list[type[ThreadkeepError]] = [
    value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, ThreadkeepError)
]
CLASSES: list[type[ThreadkeepError]] = [
    *CORE,
    EmbeddingFailed,
    IndexUnusable,
    PauseUnsupported,
    ScriptTimeout,
    WrongEmbeddings,
]
"""With what only a ring raises, which is defined there."""


def _made(error: type[ThreadkeepError]) -> ThreadkeepError:
    if issubclass(error, StaleHead | StaleVersion):
        return error(7)
    return error()


def test_every_error_has_the_code_it_always_had() -> None:
    names = {error.code: error.__name__ for error in CLASSES}
    assert names == CODES


def test_no_two_errors_have_the_same_code() -> None:
    assert len({error.code for error in CLASSES}) == len(CLASSES)


@pytest.mark.parametrize("error", CLASSES)
def test_the_message_of_an_error_is_a_sentence(error: type[ThreadkeepError]) -> None:
    message = str(_made(error))
    assert message[0].isupper()
    assert message.endswith(".")
    assert "\n" not in message


def test_a_detail_takes_the_place_of_the_message() -> None:
    assert str(errors.ContentTooLarge("At most 5 bytes.")) == "At most 5 bytes."


def test_a_stale_error_says_what_is_there_now() -> None:
    assert (StaleHead(7).head, str(StaleHead(7))) == (7, "The conversation has moved on: its head is now 7.")
    assert StaleVersion(3).version == 3
    assert "3" in str(StaleVersion(3))


def test_the_tree_in_the_docstring_names_every_error() -> None:
    drawn = errors.__doc__ or ""
    assert [error.__name__ for error in CORE if error.__name__ not in drawn] == []
