"""The form in which messages of clients are stored, and what is stored next to them."""

from typing import Any

import msgspec

from pageturn.apps.gateway.fingerprints import chained, fingerprints_of
from pageturn.apps.gateway.model_request import ModelRequest
from pageturn.formats.cache_marks import CacheMarks
from pageturn.values.messages import Message, Role, Text

_INSTRUCTIONS = (Role.SYSTEM, Role.DEVELOPER)
_MARKS = ("cache_control", "prompt_cache_breakpoint")


def stored(message: Message, vendor: str) -> Message:
    """A message in the form that is stored.

    Instructions in the middle of a conversation count as the client's text, and not as a rule.
    """
    (message,) = CacheMarks(vendor, *_MARKS).without([message])
    if message.role not in _INSTRUCTIONS:
        return message
    metadata = {**(message.metadata or {}), "role": str(message.role)}
    return msgspec.structs.replace(message, role=Role.USER, synthetic=True, metadata=metadata)


def restored_role(message: Message) -> Message:
    """A message as its client wrote it, with the role that it had."""
    role = (message.metadata or {}).get("role")
    if role not in tuple(map(str, _INSTRUCTIONS)):
        return message
    return msgspec.structs.replace(message, role=Role(str(role)), synthetic=False)


def without_reminders(message: Message) -> Message:
    """A message with only the words of a person, where a client put its own next to them."""
    if message.is_synthetic or not any(isinstance(part, Text) and part.synthetic for part in message.content):
        return message
    left = tuple(part for part in message.content if not (isinstance(part, Text) and part.synthetic))
    return msgspec.structs.replace(message, content=left)


def words_link(request: ModelRequest, words: Message) -> str:
    """The link under which the stored forms of the same words are noted."""
    return chained("words", fingerprints_of(request.format, [words]))


def answer_id(reply: Message) -> str | None:
    """The id that the provider gave an answer, by which a later request may name it."""
    response = (reply.metadata or {}).get("response")
    return id_ if isinstance(response, dict) and isinstance(id_ := response.get("id"), str) else None


def annotated(reply: Message, fields: dict[str, Any]) -> Message:
    """A reply with what the gateway knows about it."""
    return msgspec.structs.replace(reply, metadata={**(reply.metadata or {}), "gateway": fields})
