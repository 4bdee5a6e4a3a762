"""The tables of views in the database of a folder: which file is known of each conversation, and which are behind."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from threadkeep.conversation.scope import Scope
from threadkeep.store.codec import decode_id, encode_id
from threadkeep.store.filesystem import FileSignature
from threadkeep.store.sqlite import pair
from threadkeep.store.sqlite_file import SqliteDatabase

_VIEW = (
    "SELECT t.name, u.name, coalesce(c.id, c.deleted_id), c.id IS NULL, v.conversation, "
    "v.number, v.changed, v.shown, v.head, v.digest, v.inode, v.size, v.modified "
    "FROM view v JOIN conversation c ON c.key = v.conversation "
    "JOIN tenant t ON t.key = c.tenant JOIN user u ON u.key = c.user"
)
_NAMED = "c.tenant = (SELECT key FROM tenant WHERE name = ?) AND c.id = ?"
_QUIET = (
    "(c.id IS NULL OR NOT EXISTS "
    "(SELECT 1 FROM turn n WHERE n.tenant = c.tenant AND n.conversation = c.key AND n.state = 'running'))"
)
"""A view is not written in the middle of a turn, but removed with its conversation at any time."""


class KnownView(NamedTuple):
    """What is known of the view of one conversation."""

    scope: Scope
    id: str
    is_deleted: bool
    key: int
    number: int
    changed: int
    shown: int
    head: int
    digest: bytes | None
    signature: FileSignature | None


def make_tables(database: SqliteDatabase) -> None:
    """Make the tables that are missing."""
    sql = files("threadkeep_files").joinpath("views.sql").read_text(encoding="utf-8")
    pair.make_tables(database, "view_of_entry", sql)


def signature_of(database: SqliteDatabase, tenant: str, conversation: str) -> FileSignature | None:
    """Return the signature of the file as it is known; none if there is no conversation, or no known file."""
    sql = f"SELECT v.inode, v.size, v.modified FROM conversation c JOIN view v ON v.conversation = c.key WHERE {_NAMED}"
    return _signature(database.row(sql, (tenant, encode_id(conversation))) or (None,))


def signatures(database: SqliteDatabase, tenant: str) -> dict[str, FileSignature | None]:
    """Return the conversations of a tenant, and the signatures of their files."""
    sql = (
        "SELECT c.id, v.inode, v.size, v.modified FROM conversation c JOIN view v ON v.conversation = c.key "
        "WHERE c.tenant = (SELECT key FROM tenant WHERE name = ?) AND c.id IS NOT NULL"
    )
    return {decode_id(id): _signature(columns) for id, *columns in database.execute(sql, (tenant,))}


def find(database: SqliteDatabase, tenant: str, conversation: str) -> KnownView | None:
    row = database.row(f"{_VIEW} WHERE {_NAMED}", (tenant, encode_id(conversation)))
    return None if row is None else _known(row)


def leaving(database: SqliteDatabase, tenant: str, conversation: str) -> set[FileSignature | None]:
    """Return the signatures of files that are about to be removed with conversations of this id."""
    sql = (
        f"{_VIEW} WHERE v.changed <> v.shown AND c.deleted_id = ? "
        "AND c.tenant = (SELECT key FROM tenant WHERE name = ?)"
    )
    return {_known(row).signature for row in database.rows(sql, (encode_id(conversation), tenant))}


def behind(database: SqliteDatabase, after: int, limit: int) -> list[KnownView]:
    """Return views that must be written, or removed with their conversations, in the order of their keys."""
    sql = (
        f"{_VIEW} WHERE v.changed <> v.shown AND v.conversation > ? AND {_QUIET} "
        "AND coalesce(c.id, c.deleted_id) IS NOT NULL ORDER BY v.conversation LIMIT ?"
    )
    return [_known(row) for row in database.rows(sql, (after, limit))]


def add_digest(database: SqliteDatabase, view: KnownView, digest: bytes) -> None:
    """Note that a file with these bytes is about to be one of ours."""
    database.execute("INSERT OR IGNORE INTO view_digest VALUES (?, ?)", (view.number, digest))


def has_digest(database: SqliteDatabase, view: KnownView, digest: bytes) -> bool:
    found = database.value("SELECT 1 FROM view_digest WHERE number = ? AND digest = ?", (view.number, digest))
    return found is not None


def note_file(database: SqliteDatabase, view: KnownView, file: FileSignature | None, digest: bytes | None) -> None:
    """Note which file there is now."""
    database.execute(
        "UPDATE view SET digest = ?, inode = ?, size = ?, modified = ? WHERE conversation = ? AND number = ?",
        (digest, *(file or (None, None, None)), view.key, view.number),
    )


def note_shown(database: SqliteDatabase, view: KnownView, changed: int, head: int) -> None:
    """Note what the file shows."""
    database.execute(
        "UPDATE view SET shown = ?, head = ? WHERE conversation = ? AND number = ?",
        (changed, head, view.key, view.number),
    )


def note_change(database: SqliteDatabase, view: KnownView) -> None:
    """Note that the file must be written anew."""
    database.execute("UPDATE view SET changed = changed + 1 WHERE number = ?", (view.number,))


def forget_purged(database: SqliteDatabase) -> None:
    """Forget the views of conversations that are gone."""
    database.execute("DELETE FROM view WHERE conversation NOT IN (SELECT key FROM conversation)")
    database.execute("DELETE FROM view_digest WHERE number NOT IN (SELECT number FROM view)")


def numbers(database: SqliteDatabase) -> set[int]:
    return {number for (number,) in database.rows("SELECT number FROM view")}


def _known(row: Sequence[Any]) -> KnownView:
    tenant, user, id, is_deleted, *known = row[:-3]
    # Of whom nothing else is stored, the name is no id.
    scope = Scope.trusted(tenant=tenant, user=user)
    return KnownView._make((scope, decode_id(id), bool(is_deleted), *known, _signature(row[-3:])))


def _signature(columns: Sequence[Any]) -> FileSignature | None:
    return None if columns[0] is None else FileSignature(*columns)
