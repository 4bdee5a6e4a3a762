"""Every error that Threadkeep raises on purpose, in one tree.

Each class has a stable `code` for programs and a message that a person can act on; the message is the first line of
the docstring unless a detail is given. Which HTTP status belongs to a code is decided in `server/` alone. Drivers'
own exceptions never leave `store/`.

    ThreadkeepError
    ├── InvalidInput             the caller must change what it sends
    │   ├── InvalidId, InvalidText, InvalidValue, UnknownRole, TooDeep,
    │   │   ContentTooLarge (MetadataTooLarge, SystemTooLarge)
    │   └── InvalidCursor, InvalidLimit, InvalidSearch, InvalidParent, InvalidStoreUrl, IllegalTransition
    ├── NotFound                 missing, or somebody else's: the answer is the same
    │   └── ConversationNotFound, EntryNotFound, TurnNotFound, KeyNotFound
    ├── Conflict                 right in itself, but the world moved on
    │   └── AlreadyExists, StaleHead, StaleVersion, KeyReused, ConversationBusy, LeaseLost, DraftMismatch
    ├── NotAuthenticated         who is asking is not known
    ├── NotAllowed               known, but it may not do this
    ├── LimitReached             right in itself, but too much for now; each says when to try again
    │   └── RateLimited, TooManyTurns, TooManyStreams, TooManyConversations, StorageFull
    ├── Stopping                 this server stops, another one or a later one will do it
    ├── ModelError               the language model, not us
    │   └── ModelUnavailable, ModelRateLimited, ModelTimeout (each may be tried again), ModelRefused,
    │       ContextTooLong, ModelNonsense, ScriptTimeout, PauseUnsupported, UnknownModel
    ├── RetrievalError           the documents that an assistant looks things up in
    │   └── IndexUnusable, WrongEmbeddings, EmbeddingFailed, PackageMissing
    └── StoreError               the storage, not the request
        └── StoreUnavailable, StoreBusy, StoreFull, StoreReadOnly, StoreDenied, StoreCorrupt, StoreTooNew,
            StoreNotMigrated
"""


class ThreadkeepError(Exception):
    """Something went wrong in Threadkeep."""

    code = "error"

    def __init__(self, detail: str | None = None) -> None:
        super().__init__(detail or (type(self).__doc__ or "").split("\n", 1)[0])


class InvalidInput(ThreadkeepError):
    """The request is not valid."""

    code = "invalid_input"


class InvalidId(InvalidInput):
    """An id has 1 to 128 letters, digits, '_', '-' or '.', and starts with a letter or digit."""

    code = "invalid_id"


class InvalidText(InvalidInput):
    """The text is not valid Unicode: it holds a lone surrogate or is not UTF-8."""

    code = "invalid_text"


class InvalidValue(InvalidInput):
    """A value has the wrong type or shape."""

    code = "invalid_value"


class UnknownRole(InvalidInput):
    """A role is one of system, user, assistant and tool."""

    code = "unknown_role"


class ContentTooLarge(InvalidInput):
    """The content is larger than the configured limit for one entry."""

    code = "content_too_large"


class MetadataTooLarge(ContentTooLarge):
    """The metadata of a conversation has at most 64 KB as JSON."""

    code = "metadata_too_large"


class SystemTooLarge(ContentTooLarge):
    """The instructions of a conversation have at most 256 KB."""

    code = "system_too_large"


class TooDeep(InvalidInput):
    """Structured data may be nested at most 64 levels deep."""

    code = "too_deep"


class InvalidCursor(InvalidInput):
    """The cursor is not one that was handed out for this place."""

    code = "invalid_cursor"


class InvalidLimit(InvalidInput):
    """A limit is a whole number from 1 to 1000."""

    code = "invalid_limit"


class InvalidSearch(InvalidInput):
    """The search has no word to look for."""

    code = "invalid_search"


class InvalidParent(InvalidInput):
    """The parent is not an entry of this conversation that can be continued."""

    code = "invalid_parent"


class InvalidStoreUrl(InvalidInput):
    """A store is one of sqlite:///file, postgresql://..., files:///folder and memory: ."""

    code = "invalid_store_url"


class IllegalTransition(InvalidInput):
    """The conversation cannot go from its state to that one."""

    code = "illegal_transition"


class NotFound(ThreadkeepError):
    """There is no such thing."""

    code = "not_found"


class ConversationNotFound(NotFound):
    """There is no such conversation."""

    code = "conversation_not_found"


class EntryNotFound(NotFound):
    """There is no such entry in this conversation."""

    code = "entry_not_found"


class TurnNotFound(NotFound):
    """There is no such open turn in this conversation."""

    code = "turn_not_found"


class KeyNotFound(NotFound):
    """There is no such API key."""

    code = "key_not_found"


class Conflict(ThreadkeepError):
    """The request does not fit what is stored by now."""

    code = "conflict"


class AlreadyExists(Conflict):
    """A conversation with this id exists already."""

    code = "already_exists"


class StaleHead(Conflict):
    """The conversation has moved on: its head is not the expected one."""

    code = "stale_head"

    def __init__(self, head: int | None) -> None:
        super().__init__(f"The conversation has moved on: its head is now {head}.")
        self.head = head


class StaleVersion(Conflict):
    """The conversation was changed meanwhile: its version is not the expected one."""

    code = "stale_version"

    def __init__(self, version: int) -> None:
        super().__init__(f"The conversation was changed meanwhile: its version is now {version}.")
        self.version = version


class KeyReused(Conflict):
    """This idempotency key was used before, with another body."""

    code = "idempotency_key_reused"


class ConversationBusy(Conflict):
    """A turn is running or waiting in this conversation."""

    code = "conversation_busy"


class LeaseLost(Conflict):
    """The turn is no longer owned by this writer: it was settled or taken up by another."""

    code = "lease_lost"


class DraftMismatch(Conflict):
    """The text does not continue what is stored of the message being written."""

    code = "draft_mismatch"


class NotAuthenticated(ThreadkeepError):
    """A valid API key is needed: send it as `Authorization: Bearer tk_...`, or sign in."""

    code = "not_authenticated"


class NotAllowed(ThreadkeepError):
    """This needs another role than the key has."""

    code = "not_allowed"


class LimitReached(ThreadkeepError):
    """A limit is reached."""

    code = "limit_reached"
    retry_after = 1

    def __init__(self, detail: str | None = None, *, retry_after: int | None = None) -> None:
        super().__init__(detail)
        if retry_after is not None:
            self.retry_after = retry_after


class RateLimited(LimitReached):
    """Too many requests in a short time."""

    code = "rate_limited"


class TooManyTurns(LimitReached):
    """Too many turns run at a time."""

    code = "too_many_turns"


class TooManyStreams(LimitReached):
    """Too many event streams are open at a time."""

    code = "too_many_streams"
    retry_after = 5


class TooManyConversations(LimitReached):
    """There are too many conversations; delete some."""

    code = "too_many_conversations"
    retry_after = 60


class StorageFull(LimitReached):
    """Too much is stored; delete some conversations."""

    code = "storage_full"
    retry_after = 60


class Stopping(ThreadkeepError):
    """The server is stopping; try again in a moment, with the same Idempotency-Key."""

    code = "stopping"


class ModelError(ThreadkeepError):
    """The model failed."""

    code = "model_error"
    can_retry = False

    def __init__(self, detail: str | None = None, *, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class ModelUnavailable(ModelError):
    """The model's provider cannot be reached, or failed on its side."""

    code = "model_unavailable"
    can_retry = True


class ModelRateLimited(ModelUnavailable):
    """The model's provider asks us to slow down."""

    code = "model_rate_limited"


class ModelTimeout(ModelUnavailable):
    """The model stopped answering."""

    code = "model_timeout"


class ModelRefused(ModelError):
    """The model's provider does not accept the request: check the key, the model's name and the size of the request."""

    code = "model_refused"


class ContextTooLong(ModelRefused):
    """The request is longer than the model can take, even after it was shortened."""

    code = "context_too_long"

    def __init__(self, detail: str | None = None, *, limit: int | None = None) -> None:
        super().__init__(detail)
        self.limit = limit


class ModelNonsense(ModelError):
    """The model answered, but not with what it was asked for."""

    code = "model_nonsense"


class ScriptTimeout(ModelError):
    """The script of the demo model did not come to an answer in time."""

    code = "script_timeout"


class PauseUnsupported(ModelError):
    """The graph paused for a person, which is not supported: ask by a tool that needs approval instead."""

    code = "pause_unsupported"


class UnknownModel(ModelError):
    """There is no model of this name, or the package for its provider is not installed."""

    code = "unknown_model"


class RetrievalError(ThreadkeepError):
    """The documents cannot be searched."""

    code = "retrieval_failed"


class IndexUnusable(RetrievalError):
    """The index cannot be read or written; what was in it is still there."""

    code = "index_unusable"


class WrongEmbeddings(RetrievalError):
    """The index was made with other embeddings."""

    code = "wrong_embeddings"


class EmbeddingFailed(RetrievalError):
    """The embeddings failed, or gave something that is no vector."""

    code = "embedding_failed"


class PackageMissing(RetrievalError):
    """A package that retrieval needs is not installed."""

    code = "package_missing"


class StoreError(ThreadkeepError):
    """The store failed."""

    code = "store_error"


class StoreUnavailable(StoreError):
    """The store cannot be reached; nothing was written, or the connection was cut before the answer."""

    code = "store_unavailable"


class StoreBusy(StoreError):
    """Another process held the store for too long; nothing was written."""

    code = "store_busy"


class StoreFull(StoreError):
    """The disk is full; nothing was written."""

    code = "store_full"


class StoreReadOnly(StoreError):
    """The store is read-only; nothing was written."""

    code = "store_read_only"


class StoreDenied(StoreError):
    """Permission to the store was denied; nothing was written."""

    code = "store_denied"


class StoreCorrupt(StoreError):
    """Stored data is damaged; it was left as it is."""

    code = "store_corrupt"


class StoreTooNew(StoreError):
    """The store was written by a newer release of Threadkeep; upgrade Threadkeep to open it."""

    code = "store_too_new"


class StoreNotMigrated(StoreError):
    """The database has no current schema; run `threadkeep migrate --store URL` as its owner."""

    code = "store_not_migrated"
