# ruff: noqa: I001 - one line a module
from typing import Any

from threadkeep.context.base import Policy as Policy, Window as Window
from threadkeep.conversation.blocks import Block as Block
from threadkeep.conversation.conversation import Conversation as Conversation
from threadkeep.conversation.cursor import Cursor as Cursor
from threadkeep.conversation.entry import Entry as Entry
from threadkeep.conversation.events import (
    BlockAdded as BlockAdded,
    CallDecided as CallDecided,
    ConversationUpdated as ConversationUpdated,
    Event as Event,
    FeedbackGiven as FeedbackGiven,
    HeadChosen as HeadChosen,
    MessageCompleted as MessageCompleted,
    MessageStarted as MessageStarted,
    ReadersCounted as ReadersCounted,
    ReasoningDelta as ReasoningDelta,
    SpoolChanged as SpoolChanged,
    StateChanged as StateChanged,
    TextDelta as TextDelta,
    ToolCalled as ToolCalled,
    ToolReturned as ToolReturned,
    TurnEnded as TurnEnded,
    TurnQueued as TurnQueued,
    TurnRetrying as TurnRetrying,
    TurnStarted as TurnStarted,
    TurnWaiting as TurnWaiting,
)
from threadkeep.conversation.message import (
    Message as Message,
    Role as Role,
    ToolCall as ToolCall,
    ToolResult as ToolResult,
    Usage as Usage,
)
from threadkeep.conversation.scope import Scope as Scope
from threadkeep.conversation.turn import (
    BusyPolicy as BusyPolicy,
    Failure as Failure,
    Turn as Turn,
    TurnState as TurnState,
)
from threadkeep.conversation_handle import ConversationHandle as ConversationHandle
from threadkeep.conversations import Conversations as Conversations
from threadkeep.errors import ThreadkeepError as ThreadkeepError
from threadkeep.llm.base import (
    CallPart as CallPart,
    Model as Model,
    ModelOptions as ModelOptions,
    Reasoned as Reasoned,
    Request as Request,
    Stopped as Stopped,
    Text as Text,
    Used as Used,
)
from threadkeep.runtime import open as open  # noqa: A004
from threadkeep.server.app import create_app as create_app
from threadkeep.server.sse import sse_response as sse_response
from threadkeep.settings import Settings as Settings
from threadkeep.store.base import Store as Store
from threadkeep.store.values import Snapshot as Snapshot
from threadkeep.tools.base import ToolContext as ToolContext, ToolOutcome as ToolOutcome
from threadkeep.tools.decorator import tool as tool
from threadkeep.tools.registry import Registry as Registry
from threadkeep.turn.agent import (
    Agent as Agent,
    Asked as Asked,
    Changed as Changed,
    Noted as Noted,
    ShownBlock as ShownBlock,
)
from threadkeep.turn.assistant import Assistant as Assistant
from threadkeep.turn_handle import TurnHandle as TurnHandle, TurnOutcome as TurnOutcome

__version__: str
__all__: list[str]

def __getattr__(name: str) -> Any: ...
