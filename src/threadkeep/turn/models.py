"""Which model answers, by name, and which names a conversation may choose. Each model is loaded once.

The first of these is used: the conversation's own choice, a model that was set, the assistant's, what was found.
"""

from collections.abc import Callable, Collection
from concurrent.futures import Future
from threading import Lock

from threadkeep.errors import UnknownModel
from threadkeep.llm.base import Model
from threadkeep.llm.loading import identity_of, load_model
from threadkeep.turn.assistant import Assistant


class Models:
    """Finds models by name. The default is a name or a model; `is_set` is whether a person has chosen it.

    Without `offered` any name may be chosen, as at the command line. A server sets it, because a name can be a path and
    can cost money.
    """

    def __init__(
        self,
        default: str | Model,
        pace: float | None = None,
        *,
        is_set: bool = False,
        offered: Collection[str] | None = None,
        limit: float | None = None,
    ) -> None:
        self._default = default
        self._pace = pace
        self._limit = limit
        self._is_set = is_set
        self._offered = offered
        self._found: dict[tuple[str, str], Future[Model]] = {}
        self._lock = Lock()

    def __call__(self, name: str | None, assistant: Assistant) -> Model:
        """Return the model for a conversation that has chosen this name, or none. UnknownModel if it may not be chosen.
        The first call for a model loads it and may take long; any thread may call."""
        if isinstance(self._default, Model) and name in (None, self._default.name):
            return self._default
        if name is not None and self._offered is not None and name not in self._offered:
            raise UnknownModel(f"The model {name} is not offered here; GET /v1/models lists those that are.")
        chosen = name or (None if self._is_set else assistant.model) or str(self._default)
        # The demo model plays another script for each assistant.
        key = (identity_of(chosen), assistant.name if chosen == "demo" else "")
        return self._once(key, lambda: load_model(chosen, assistant.script, self._pace, limit=self._limit))

    async def close(self) -> None:
        """Close the models that were loaded, and the one that was given."""
        loaded = [found.result() for found in self._found.values() if found.done() and found.exception() is None]
        for model in [self._default, *loaded]:
            if isinstance(model, Model):
                await model.close()

    def _once(self, key: tuple[str, str], load: Callable[[], Model]) -> Model:
        with self._lock:
            found = self._found.get(key)
            is_first = found is None
            found = self._found[key] = found or Future()
        if is_first:
            try:
                found.set_result(load())
            except BaseException as error:
                with self._lock:
                    del self._found[key]
                found.set_exception(error)
                raise
        return found.result()
