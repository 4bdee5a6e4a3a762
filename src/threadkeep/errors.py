"""Every error that Threadkeep raises on purpose, in one tree.

Each class has a stable `code` for programs and a message that a person can act on; the message is the first line of
the docstring unless a detail is given. Which HTTP status belongs to a code is decided in `server/` alone. Drivers'
own exceptions never leave `store/`. What only a ring raises is defined in that ring.

    ThreadkeepError
    ├── InvalidInput             the caller must change what it sends
    │   ├── InvalidId, InvalidText, InvalidValue, UnknownRole, TooDeep, InvalidPart, TooManyParts,
    │   │   EmptyFile, ContentTooLarge (MetadataTooLarge, SystemTooLarge, FileTooLarge, AttachmentsTooLarge)
    │   ├── InvalidCursor, InvalidLimit, InvalidSearch, InvalidParent, InvalidStoreUrl, IllegalTransition,
    │   │   InvalidPeriod, HoldOnNobody
    │   └── InvalidImport (UnknownFormat, ImportDamaged, ImportTooLarge, UnsafeArchive)
    ├── NotFound                 missing, or somebody else's: the answer is the same
    │   └── ConversationNotFound, EntryNotFound, TurnNotFound, KeyNotFound, HoldNotFound, FileNotFound,
    │       UploadNotFound, ShareNotFound
    ├── Conflict                 right in itself, but the world moved on
    │   └── AlreadyExists, StaleHead, StaleVersion, KeyReused, ConversationBusy, LeaseLost, DraftMismatch,
    │       ImportConflict, LegalHold, FileInUse, UploadMismatch
    ├── NotAuthenticated         who is asking is not known
    ├── NotAllowed               known, but it may not do this
    ├── LimitReached             right in itself, but too much for now; each says when to try again
    │   └── RateLimited, TooManyTurns, TooManyStreams, TooManyConversations, StorageFull, QueueFull
    ├── Stopping                 this server stops, another one or a later one will do it
    ├── ModelError               the language model, not us
    │   └── ModelUnavailable, ModelRateLimited, ModelTimeout (each may be tried again), ModelRefused,
    │       ContextTooLong, ModelNonsense, UnknownModel
    ├── RetrievalError           the documents that an assistant looks things up in
    │   └── PackageMissing
    └── StoreError               the storage, not the request
        └── StoreUnavailable, StoreBusy, StoreFull, StoreReadOnly, StoreDenied, StoreCorrupt, StoreTooNew, StoreTooOld,
            StoreNotMigrated, SpoolFull
"""


class ThreadkeepError(Exception):
    """Something went wrong in Threadkeep."""

    code = "error"

    def __init_subclass__(cls, *, code: str | None = None) -> None:
        """Give a kind of error its code; a class without one has that of its parent."""
        super().__init_subclass__()
        cls.code = code or cls.code

    def __init__(self, detail: str | None = None) -> None:
        super().__init__(detail or (type(self).__doc__ or "").split("\n", 1)[0])


class InvalidInput(ThreadkeepError, code="invalid_input"):
    """The request is not valid."""


class InvalidId(InvalidInput, code="invalid_id"):
    """An id has 1 to 128 letters, digits, '_', '-' or '.', and starts with a letter or digit."""


class InvalidText(InvalidInput, code="invalid_text"):
    """The text is not valid Unicode: it holds a lone surrogate or is not UTF-8."""


class InvalidValue(InvalidInput, code="invalid_value"):
    """A value has the wrong type or shape."""


class UnknownRole(InvalidInput, code="unknown_role"):
    """A role is one of system, user, assistant and tool."""


class ContentTooLarge(InvalidInput, code="content_too_large"):
    """The content is larger than the configured limit for one entry."""


class MetadataTooLarge(ContentTooLarge, code="metadata_too_large"):
    """The metadata of a conversation has at most 64 KB as JSON."""


class SystemTooLarge(ContentTooLarge, code="system_too_large"):
    """The instructions of a conversation have at most 256 KB."""


class FileTooLarge(ContentTooLarge, code="file_too_large"):
    """The file is larger than a file may be here."""


class AttachmentsTooLarge(ContentTooLarge, code="attachments_too_large"):
    """The files of one message are larger together than they may be here."""


class EmptyFile(InvalidInput, code="empty_file"):
    """The file has no bytes."""


class TooDeep(InvalidInput, code="too_deep"):
    """Structured data may be nested at most 64 levels deep."""


class InvalidPart(InvalidInput, code="invalid_part"):
    """A part of a message has the wrong type or shape, or does not belong into it."""


class TooManyParts(InvalidInput, code="too_many_parts"):
    """A message has at most 100 parts beside its text."""


class InvalidCursor(InvalidInput, code="invalid_cursor"):
    """The cursor is not one that was handed out for this place."""


class InvalidLimit(InvalidInput, code="invalid_limit"):
    """A limit is a whole number from 1 to 1000."""


class InvalidSearch(InvalidInput, code="invalid_search"):
    """The search has no word to look for."""


class InvalidParent(InvalidInput, code="invalid_parent"):
    """The parent is not an entry of this conversation that can be continued."""


class InvalidStoreUrl(InvalidInput, code="invalid_store_url"):
    """A store is one of sqlite:///file, files:///folder, memory: and, with its package, postgresql://... ."""


class IllegalTransition(InvalidInput, code="illegal_transition"):
    """The conversation cannot go from its state to that one."""


class InvalidPeriod(InvalidInput, code="invalid_period"):
    """A period is a number of days, hours or minutes such as 90d, 12h or 30m, more than none and at most 100 years."""


class HoldOnNobody(InvalidInput, code="hold_on_nobody"):
    """There is nothing to hold: the conversation, user or tenant has nothing stored."""


class InvalidImport(InvalidInput, code="invalid_import"):
    """What is to be imported does not fit together."""


class UnknownFormat(InvalidImport, code="unknown_format"):
    """No known export has this shape."""


class ImportDamaged(InvalidImport, code="import_damaged"):
    """The file was cut off or changed."""


class ImportTooLarge(InvalidImport, code="import_too_large"):
    """The file, or one conversation in it, is larger than an import may be."""


class UnsafeArchive(InvalidImport, code="unsafe_archive"):
    """The archive has names, links or encryption that no export has; nothing of it was read."""


class NotFound(ThreadkeepError, code="not_found"):
    """There is no such thing."""


class ConversationNotFound(NotFound, code="conversation_not_found"):
    """There is no such conversation."""


class EntryNotFound(NotFound, code="entry_not_found"):
    """There is no such entry in this conversation."""


class TurnNotFound(NotFound, code="turn_not_found"):
    """There is no such open turn in this conversation."""


class ShareNotFound(NotFound, code="share_not_found"):
    """There is no such link, or it works no longer."""


class KeyNotFound(NotFound, code="key_not_found"):
    """There is no such API key."""


class HoldNotFound(NotFound, code="hold_not_found"):
    """There is no such legal hold."""


class FileNotFound(NotFound, code="file_not_found"):
    """There is no such file."""


class UploadNotFound(NotFound, code="upload_not_found"):
    """There is no such upload; it may be complete, given up, or have stood still for a day."""


class Conflict(ThreadkeepError, code="conflict"):
    """The request does not fit what is stored by now."""


class AlreadyExists(Conflict, code="already_exists"):
    """A conversation with this id exists already."""


class StaleHead(Conflict, code="stale_head"):
    """The conversation has moved on: its head is not the expected one."""

    def __init__(self, head: int | None) -> None:
        super().__init__(f"The conversation has moved on: its head is now {head}.")
        self.head = head


class StaleVersion(Conflict, code="stale_version"):
    """The conversation was changed meanwhile: its version is not the expected one."""

    def __init__(self, version: int) -> None:
        super().__init__(f"The conversation was changed meanwhile: its version is now {version}.")
        self.version = version


class KeyReused(Conflict, code="idempotency_key_reused"):
    """This idempotency key was used before, with another body."""


class ConversationBusy(Conflict, code="conversation_busy"):
    """A turn is running or waiting in this conversation."""


class LeaseLost(Conflict, code="lease_lost"):
    """The turn is no longer owned by this writer: it was settled or taken up by another."""


class DraftMismatch(Conflict, code="draft_mismatch"):
    """The text does not continue what is stored of the message being written."""


class ImportConflict(Conflict, code="import_conflict"):
    """This conversation is here already and went on differently; nothing of it was changed."""


class LegalHold(Conflict, code="legal_hold"):
    """This is under a legal hold: nothing of it may be deleted until an administrator removes the hold."""


class FileInUse(Conflict, code="file_in_use"):
    """A message uses this file; it goes with the conversation."""


class UploadMismatch(Conflict, code="upload_mismatch"):
    """The upload does not go on there: ask how far it has come."""


class NotAuthenticated(ThreadkeepError, code="not_authenticated"):
    """A valid API key is needed: send it as `Authorization: Bearer tk_...`, or sign in."""


class NotAllowed(ThreadkeepError, code="not_allowed"):
    """This needs another role than the key has."""


class LimitReached(ThreadkeepError, code="limit_reached"):
    """A limit is reached."""

    retry_after = 1

    def __init__(self, detail: str | None = None, *, retry_after: int | None = None) -> None:
        super().__init__(detail)
        if retry_after is not None:
            self.retry_after = retry_after


class RateLimited(LimitReached, code="rate_limited"):
    """Too many requests in a short time."""


class TooManyTurns(LimitReached, code="too_many_turns"):
    """Too many turns run at a time."""


class TooManyStreams(LimitReached, code="too_many_streams"):
    """Too many event streams are open at a time."""

    retry_after = 5


class TooManyConversations(LimitReached, code="too_many_conversations"):
    """There are too many conversations; delete some."""

    retry_after = 60


class StorageFull(LimitReached, code="storage_full"):
    """Too much is stored; delete some conversations."""

    retry_after = 60


class QueueFull(LimitReached, code="queue_full"):
    """Too many messages wait in this conversation; wait for their answers."""

    retry_after = 5


class Stopping(ThreadkeepError, code="stopping"):
    """The server is stopping; try again in a moment, with the same Idempotency-Key."""


class ModelError(ThreadkeepError, code="model_error"):
    """The model failed."""

    can_retry = False

    def __init__(self, detail: str | None = None, *, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class ModelUnavailable(ModelError, code="model_unavailable"):
    """The model's provider cannot be reached, or failed on its side."""

    can_retry = True


class ModelRateLimited(ModelUnavailable, code="model_rate_limited"):
    """The model's provider asks us to slow down."""


class ModelTimeout(ModelUnavailable, code="model_timeout"):
    """The model stopped answering."""


class ModelRefused(ModelError, code="model_refused"):
    """The model's provider does not accept the request: check the key, the model's name and the size of the request."""


class ContextTooLong(ModelRefused, code="context_too_long"):
    """The request is longer than the model can take, even after it was shortened."""

    def __init__(self, detail: str | None = None, *, limit: int | None = None) -> None:
        super().__init__(detail)
        self.limit = limit


class ModelNonsense(ModelError, code="model_nonsense"):
    """The model answered, but not with what it was asked for."""


class UnknownModel(ModelError, code="unknown_model"):
    """There is no model of this name, or the package for its provider is not installed."""


class RetrievalError(ThreadkeepError, code="retrieval_failed"):
    """The documents cannot be searched."""


class PackageMissing(RetrievalError, code="package_missing"):
    """A package that is needed here is not installed."""


class StoreError(ThreadkeepError, code="store_error"):
    """The store failed."""


class StoreUnavailable(StoreError, code="store_unavailable"):
    """The store cannot be reached; nothing was written, or the connection was cut before the answer."""


class StoreBusy(StoreError, code="store_busy"):
    """Another process held the store for too long; nothing was written."""


class StoreFull(StoreError, code="store_full"):
    """The disk is full; nothing was written."""


class StoreReadOnly(StoreError, code="store_read_only"):
    """The store is read-only; nothing was written."""


class StoreDenied(StoreError, code="store_denied"):
    """Permission to the store was denied; nothing was written."""


class StoreCorrupt(StoreError, code="store_corrupt"):
    """Stored data is damaged; it was left as it is."""


class StoreTooNew(StoreError, code="store_too_new"):
    """The store was written by a newer release of Threadkeep; upgrade Threadkeep to open it."""


class StoreTooOld(StoreError, code="store_too_old"):
    """The store was made by a development version of Threadkeep; export it with that version and import it here."""


class StoreNotMigrated(StoreError, code="store_not_migrated"):
    """The database has no current schema; run `threadkeep migrate --store URL` as its owner."""


class SpoolFull(StoreError, code="spool_full"):
    """The database is away and the spool holds as much as it may; nothing was kept."""
