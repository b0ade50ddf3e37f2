"""Reads the items of a history, each of which is read once and then recognised by its bytes: clients send the same history again and
again.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from types import ModuleType
from typing import NamedTuple

import msgspec

from pageturn.apps.gateway.body_fields import decoded
from pageturn.apps.gateway.fingerprints import fingerprints_of
from pageturn.formats import anthropic
from pageturn.values.messages import Message, Native, Role

_MOST_ITEMS = 50_000  # items whose fingerprints are cached
_INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)
_TOOLS = ("additional_tools", "configuration_update")  # items that define the available tools
_TOOL_CHANGES = ("tool_addition", "tool_removal")
_COMPACTING = (  # how clients ask a model to compact their history, within that history
    "CRITICAL: Respond with TEXT ONLY",
    "CONTEXT CHECKPOINT COMPACTION",
    "First, reason in your scratchpad. Then, generate the <state_snapshot>",
)
_MARK = b'"cache_control"'


class Item(NamedTuple):
    """One item of a history: its content, and its role."""

    fingerprints: tuple[str, ...]
    messages: int  # the number of fingerprints that it counts as
    by_model: bool
    opens: bool  # it may come before the conversation: instructions, or tools given as items
    is_compacting: bool  # it asks for a summary of everything before it
    has_tools: bool
    has_mark: bool  # of a cache


class ItemReader:
    """Reads items; results are cached by bytes, since each item occurs many times."""

    def __init__(self) -> None:
        self._known: dict[ModuleType, OrderedDict[bytes, Item]] = {}

    def read(self, format_: ModuleType, raws: Sequence[bytes]) -> list[Item]:
        """Read items; raises `InvalidInput` if one cannot be understood."""
        known = self._known.setdefault(format_, OrderedDict())
        keys = [blake2b(raw, digest_size=16).digest() for raw in raws]
        found = [known.get(key) for key in keys]
        items: list[Item] = []
        for at, item in enumerate(found):
            if item is None:
                item = known[keys[at]] = _item(format_, raws[at])  # noqa: PLW2901
                if len(known) > _MOST_ITEMS:
                    known.popitem(last=False)
            items.append(item)
        return items


def load_items(format_: ModuleType, raws: Sequence[bytes]) -> list[Message]:
    """Items as messages."""
    messages: list[Message] = format_.load_messages([decoded(msgspec.json.Decoder(), raw, "item") for raw in raws])
    return messages


def changes_tools(message: Message) -> bool:
    """Whether a message in the middle defines the tools or the form of the answer, so that it applies to everything after it."""
    kinds = (part.item.get("type") for part in message.content if isinstance(part, Native))
    has_tools = any(kind in (*_TOOLS, *_TOOL_CHANGES) for kind in kinds)
    return has_tools or any(
        "output_config" in each for each in (message.extra or {}).values() if isinstance(each, Mapping)
    )


def _item(format_: ModuleType, raw: bytes) -> Item:
    messages = load_items(format_, [raw])
    role = messages[0].role if messages else Role.USER
    natives = [part.item.get("type") for message in messages for part in message.content if isinstance(part, Native)]
    # Where the vendor has a field for instructions, those among the items are the client's words in the middle.
    opens = format_ is not anthropic and (role in _INSTRUCTIONS or "additional_tools" in natives)
    return Item(
        fingerprints=fingerprints_of(format_, messages),
        messages=len(messages),
        by_model=role is Role.ASSISTANT,
        opens=opens,
        is_compacting="compaction_trigger" in natives
        or any(mark in message.text for message in messages if role is not Role.ASSISTANT for mark in _COMPACTING),
        has_tools="additional_tools" in natives,
        has_mark=_MARK in raw,
    )
