"""A `SessionService` of Google's Agent Development Kit: each session is a conversation of its user.

An event and what it changes of the session's state are one commit, behind the entry that the caller knows: a session
that somebody else went on with is stale. What it changes for the whole user or app follows in commits of their own.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import uuid4

from pydantic_core import to_jsonable_python

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.ids import id_of
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation.state import State
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import AlreadyExists, ConversationNotFound, PackageMissing, StaleHead, StoreUnavailable
from threadkeep_integrations.google_adk.events import FORM, with_names
from threadkeep_integrations.raw_items import plain
from threadkeep_integrations.sessions import SessionLog, all_conversations, all_of_tenant

try:
    from google.adk.errors import StaleSessionError
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.errors.session_not_found_error import SessionNotFoundError
    from google.adk.events.event import Event
    from google.adk.sessions import BaseSessionService, Session
    from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse
except ImportError:
    raise PackageMissing("Sessions of Google's ADK need a package: pip install google-adk") from None

APP, USER, SESSION = "adk_app", "adk_user", "adk_session"
OF_APPS = "a__.adk"
"""The user whose conversations keep the states of apps: no other is ever named so."""
APP_PREFIX, USER_PREFIX, TEMP_PREFIX = "app:", "user:", "temp:"
MOST_SEEN = 256
"""Of so many users the states that are shared by sessions are known in an outage."""
JUST_STORED = 8
"""An event that is sent again is looked for among so many."""


class _Deltas(NamedTuple):
    """What a change means for the app, the user and the session."""

    app: dict[str, Any]
    user: dict[str, Any]
    session: dict[str, Any]


class AdkSessions(BaseSessionService):  # type: ignore[misc] # the package is in an environment of its own
    """The sessions of all users of a tenant. They are conversations like any other: shown, searched, exported,
    erased."""

    def __init__(self, conversations: Conversations, *, tenant: str = LOCAL.tenant) -> None:
        self._conversations = conversations
        self._tenant = tenant
        self._seen = OrderedDict[tuple[str, str], Mapping[str, Any]]()

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        id = (session_id or "").strip() or str(uuid4())
        scope, deltas = self._scope(user_id), _deltas(state)
        log, head = self._log(app_name, user_id, id), 0
        place = {APP: app_name, USER: user_id, SESSION: id}
        try:
            await self._conversations.create(scope=scope, id=log.name, metadata=place)
        except AlreadyExists:
            raise AlreadyExistsError(f"Session with id {id} already exists.") from None
        if deltas.session:
            head = await log.extend([State().change(deltas.session)], 0)
        await self._change_shared(app_name, user_id, deltas)
        conversation = await log.conversation()
        shared = await self._shared(app_name, user_id)
        return _session(conversation.value, user_id, shared, State(values=deltas.session), head)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        log = self._log(app_name, user_id, session_id.strip())
        if (conversation := await log.found()) is None:
            return None
        with suppress(ConversationNotFound):  # it may be deleted meanwhile
            head, state = await _state(conversation)
            limit, since = (config.num_recent_events, config.after_timestamp) if config else (None, None)
            events = [event for each in with_names(await log.records(FORM, limit)) for event in _events(each)]
            events = [event for event in events if since is None or event.timestamp >= since]
            shared = await self._shared(app_name, user_id)
            session = _session(await conversation.read(), user_id, shared, state, head)
            session.events = events
            return session
        return None

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        if user_id is None:
            pages = all_of_tenant(self._conversations, self._tenant, metadata={APP: app_name})
        else:
            pages = all_conversations(self._conversations, scope=self._scope(user_id), metadata={APP: app_name})
        shared: dict[str, Mapping[str, Any]] = {}
        sessions = []
        async for found in pages:
            if not all(isinstance(found.metadata.get(name), str) for name in (USER, SESSION)):
                continue
            user, owner = found.metadata[USER], found.scope.user
            user = user if id_of(user) == owner else user_id or owner  # it may have been somebody else's elsewhere
            if user not in shared:
                shared[user] = await self._shared(app_name, user)
            with suppress(ConversationNotFound):
                head, state = await _state(self._conversations.at(found.scope, found.id))
                sessions.append(_session(found, user, shared[user], state, head))
        sessions.sort(key=lambda session: (session.last_update_time, session.user_id, session.id))
        return ListSessionsResponse(sessions=sessions)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        found = await self._log(app_name, user_id, session_id.strip()).found()
        if found is not None:
            with suppress(ConversationNotFound):
                await found.delete()

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        return dict(await _values(self._user_log(app_name, user_id)))

    async def append_event(self, session: Session, event: Event) -> Event:
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        deltas = _deltas(event.actions.state_delta if event.actions else None)
        log = self._log(session.app_name, session.user_id, session.id)
        if (conversation := await log.found()) is None:
            raise SessionNotFoundError(f"Session {session.id} not found.")
        head = await self._store(log, conversation, session, event, deltas.session)
        await self._change_shared(session.app_name, session.user_id, deltas)
        session.last_update_time = event.timestamp
        session._storage_update_marker = str(head)
        stored: Event = self._commit_event_to_session(session, event)
        return stored

    async def _store(
        self, log: SessionLog, conversation: ConversationHandle, session: Session, event: Event, new: dict[str, Any]
    ) -> int:
        """Store an event behind the entry up to which the caller knows the session, and return its own."""
        fields = event.model_dump(mode="json", exclude_none=True)
        known = session._storage_update_marker
        try:
            head = (await _state(conversation))[0] if known is None else int(known)
            state = await conversation.reading.state(at=head) if new and head else State()
            return await log.extend([*([state.change(new)] if new else []), *FORM.messages([fields])], head)
        except ConversationNotFound:
            raise SessionNotFoundError(f"Session {session.id} not found.") from None
        except StaleHead as stale:
            if fields in await log.records(FORM, JUST_STORED):
                return stale.head or 0  # it was stored, but its caller did not hear of it
            raise StaleSessionError(f"Session {session.id} has moved on; get it again.") from None

    def _scope(self, user_id: str) -> Scope:
        return Scope(tenant=self._tenant, user=id_of(user_id))

    def _log(self, app: str, user: str, session: str) -> SessionLog:
        return SessionLog(self._conversations, f"{app}\n{session}", self._scope(user))

    def _user_log(self, app: str, user: str) -> SessionLog:
        return SessionLog(self._conversations, f"{app}\n\nuser", self._scope(user), title=f"State of {app}")

    def _app_log(self, app: str) -> SessionLog:
        scope = Scope(tenant=self._tenant, user=OF_APPS)
        return SessionLog(self._conversations, f"{app}\n\napp", scope, title=f"State of {app}")

    async def _change_shared(self, app: str, user: str, deltas: _Deltas) -> None:
        for log, new in ((self._app_log(app), deltas.app), (self._user_log(app, user), deltas.user)):
            while new:
                conversation = await log.conversation()
                if not conversation.replayed:
                    await conversation.update(archived=True)  # nothing to be read
                head, state = await _state(conversation)
                with suppress(StaleHead, ConversationNotFound):  # others change it too
                    await log.extend([state.change(new)], head)
                    break

    async def _shared(self, app: str, user: str) -> Mapping[str, Any]:
        """Return the states of app and user, as sessions show them; in an outage as they were when they were last
        seen."""
        try:
            of_app, of_user = await _values(self._app_log(app)), await _values(self._user_log(app, user))
        except StoreUnavailable:
            if (app, user) not in self._seen:
                raise
            return self._seen[app, user]
        seen = {APP_PREFIX + name: value for name, value in of_app.items()}
        seen |= {USER_PREFIX + name: value for name, value in of_user.items()}
        self._seen[app, user] = seen
        self._seen.move_to_end((app, user))
        if len(self._seen) > MOST_SEEN:
            self._seen.popitem(last=False)
        return seen


def _session(found: Conversation, user: str, shared: Mapping[str, Any], state: State, head: int) -> Session:
    place = {"app_name": found.metadata[APP], "user_id": user, "id": found.metadata[SESSION]}
    at = found.updated_at.timestamp()
    session = Session(state={**state.values, **shared}, events=[], last_update_time=at, **place)
    session._storage_update_marker = str(head)
    return session


def _events(fields: dict[str, Any]) -> Iterator[Event]:
    """Yield an event, but nothing for what somebody sent as one."""
    with suppress(ValueError):
        yield Event.model_validate(fields)


async def _state(conversation: ConversationHandle) -> tuple[int, State]:
    """Return the newest entry of a conversation (0: there is none), and its state as of that one."""
    newest = await conversation.reading.newest(limit=1)
    if not newest:
        return 0, State()
    return newest[-1].seq, await conversation.reading.state(at=newest[-1].seq)


async def _values(log: SessionLog) -> Mapping[str, Any]:
    conversation = await log.found()
    return {} if conversation is None else (await _state(conversation))[1].values


def _deltas(state: Mapping[str, Any] | None) -> _Deltas:
    """Split a change of the state by the beginnings of its names, as JSON; what is temporary is not kept."""
    deltas = _Deltas({}, {}, {})
    for name, value in (state or {}).items():
        kept = plain(to_jsonable_python(value, inf_nan_mode="null", fallback=str))
        if name.startswith(APP_PREFIX):
            deltas.app[name.removeprefix(APP_PREFIX)] = kept
        elif name.startswith(USER_PREFIX):
            deltas.user[name.removeprefix(USER_PREFIX)] = kept
        elif not name.startswith(TEMP_PREFIX):
            deltas.session[name] = kept
    return deltas
