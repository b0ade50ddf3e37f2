"""Profiles: what a model takes of its vendor's format, by its name. A name that nobody knows gets the strictest."""

import re
from functools import lru_cache
from typing import NamedTuple

# gpt-oss has OpenAI's name, but is served by others with a chat template that leaves later instructions out.
_OPENAI = re.compile(r"(?:^|[/:.])(?:(?:chat)?gpt-(?!oss|j\b|neo)|o\d+(?:-|$)|codex-|computer-use)")
_MISTRAL = re.compile(r"mi[sx]tral|magistral|ministral|codestral|devstral|pixtral")
_SYSTEM_IN_MESSAGES = re.compile(
    r"(?:(?:fable|mythos)-5(?:[-.]1)?|opus-4[-.]8|opus-5(?:[-.]5)?|(?:sonnet|haiku)-5[-.]5)(?![-.]?\d(?!\d{3}))"
)
_GEMINI = re.compile(r"gemini-\d[\w.-]*")


class ChatProfile(NamedTuple):
    """What a model takes that is spoken to as OpenAI's chat models are."""

    is_openai: bool  # or else a chat template reads the messages, which has rules of its own
    ids: str  # of calls, as a pattern
    made_ids: tuple[str, int]  # the prefix and the number of digits of an id that stands for one that does not fit


_PLAIN_IDS, _MADE_IDS = r"[a-zA-Z0-9_-]{1,40}", ("call_", 24)


@lru_cache(maxsize=256)
def chat_profile(model: str | None) -> ChatProfile:
    """The profile of a model behind the chat format; None is a model that nobody knows."""
    name = (model or "").lower()
    if _OPENAI.search(name):
        return ChatProfile(is_openai=True, ids=_PLAIN_IDS, made_ids=_MADE_IDS)
    if _MISTRAL.search(name):
        return ChatProfile(is_openai=False, ids=r"[a-zA-Z0-9]{9}", made_ids=("", 9))
    if "kimi" in name:  # which writes functions.read:0 and wants it back
        return ChatProfile(is_openai=False, ids=r"[a-zA-Z0-9_.:-]{1,40}", made_ids=_MADE_IDS)
    return ChatProfile(is_openai=False, ids=_PLAIN_IDS, made_ids=_MADE_IDS)


def is_openai(model: str) -> bool:
    """Whether a model is one of OpenAI's own."""
    return chat_profile(model).is_openai


@lru_cache(maxsize=256)
def takes_system_messages(model: str | None) -> bool:
    """Whether one of Anthropic's models takes system messages among the others."""
    return _SYSTEM_IN_MESSAGES.search((model or "").lower()) is not None


@lru_cache(maxsize=256)
def checks_signatures(model: str | None) -> bool:
    """Whether one of Google's models refuses a call without its signature, as all do since Gemini 3."""
    return re.search(r"gemini-[12](?!\d)", (model or "").lower()) is None


def may_be_same(model: str | None, other: str | None) -> bool:
    """Whether two names of Google's may mean one model: `gemini-3-flash` and `gemini-3-flash-001` do, and an alias may."""
    found = [_GEMINI.search((name or "").lower()) for name in (model, other)]
    names = [match[0] for match in found if match is not None]
    return len(names) < 2 or names[0].startswith(names[1]) or names[1].startswith(names[0])
