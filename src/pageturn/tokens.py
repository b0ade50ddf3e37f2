"""Tokens: how much of a window a text, a message or a tool takes.

OpenAI's models are counted exactly. For the others no exact tokenizer exists offline, so they are estimated from the
o200k count with a slope and an offset that were fitted on prompt sizes that providers reported (docs/tokens.md).
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from math import ceil
from typing import Any, NamedTuple, Protocol

import msgspec

from pageturn import data_urls, images
from pageturn.encodings import Encoding, encoding
from pageturn.errors import InvalidInput
from pageturn.images import ImageRule
from pageturn.messages import File, Image, Message, Native, Part, Text, Thinking, ToolCall, ToolResult
from pageturn.reminders import lowered
from pageturn.wire import Closed, to_json


class TokenCounter(Protocol):
    """What the rest of pageturn asks of a counter."""

    @property
    def name(self) -> str:
        """The profile that it counts by."""
        ...

    @property
    def exact(self) -> bool:
        """Whether text counts are the provider's own, and not an estimate."""
        ...

    def text(self, text: str) -> int:
        """The tokens of a text."""
        ...

    def message(self, message: Message) -> int:
        """The tokens of a message, with what the vendor adds to each."""
        ...

    def tools(self, tools: Sequence[Mapping[str, Any]]) -> int:
        """The tokens of the tool definitions, in any vendor's form."""
        ...


class Profile(Closed):
    """How one family of models counts: tokens = slope x vocabulary count + what the vendor adds."""

    name: str
    vocabulary: str = "o200k_base"
    exact: bool = False
    slope: float = 1.0
    per_message: int = 4
    per_call: int = 25
    per_tool: int = 6  # these two: published constants of the package ai-tokenizer (MIT), not measured here
    tools_once: int = 24
    decodes_arguments: bool = False  # whether the vendor shows the model a call's values instead of its JSON text


# Slope, per_message and per_call are checked by `make calibrate`; the figures are in docs/tokens.md.
_OPENAI = Profile("openai", exact=True)
_OPENAI_OLD = Profile("openai-cl100k", vocabulary="cl100k_base", exact=True)
_ANTHROPIC = Profile("anthropic", slope=1.25, per_call=80, per_tool=53, tools_once=549, decodes_arguments=True)
_GEMINI = Profile("gemini", slope=1.2, per_call=0)
_UNKNOWN = Profile("unknown", slope=1.1)

# The first pattern that occurs in the model's name wins, so the special come before the general.
_PROFILES: tuple[tuple[str, Profile, ImageRule], ...] = (
    ("claude", _ANTHROPIC, images.anthropic),
    ("gemini", _GEMINI, images.gemini),
    ("gpt-oss", _OPENAI, images.openai_tiles(70, 140)),
    ("gpt-4o-mini", _OPENAI, images.openai_tiles(2_833, 5_667)),
    ("gpt-4o", _OPENAI, images.openai_tiles(85, 170)),
    (r"gpt-4\.1-mini", _OPENAI, images.openai_patches(1.62)),
    (r"gpt-4\.1-nano", _OPENAI, images.openai_patches(2.46)),
    (r"gpt-4\.", _OPENAI, images.openai_tiles(85, 170)),
    ("gpt-[34]", _OPENAI_OLD, images.openai_tiles(85, 170)),
    ("gpt-5-mini", _OPENAI, images.openai_patches(1.62)),
    ("gpt-5-nano", _OPENAI, images.openai_patches(2.46)),
    (r"gpt-[5-9]|gpt-\d\d", _OPENAI, images.openai_tiles(70, 140)),
    (r"(?<![a-z0-9-])o4-mini", _OPENAI, images.openai_patches(1.72)),
    (r"(?<![a-z0-9-])o[134]\b", _OPENAI, images.openai_tiles(75, 150)),
    ("", _UNKNOWN, images.anthropic),
)

_OPAQUE_FILE_TOKENS = 2_000  # a document whose text nobody here can read
_REDACTED_CHARS = 5  # base64 of encrypted text: 4/3 characters a byte, about 4 bytes a token


@lru_cache(maxsize=256)
def counter_for(model: str) -> TokenCounter:
    """The counter for a model, by its name; an unknown one is estimated."""
    name = model.lower()
    return next(_counter(profile, rule) for pattern, profile, rule in _PROFILES if re.search(pattern, name))


@cache
def _counter(profile: Profile, image_rule: ImageRule) -> "ProfileCounter":
    return ProfileCounter(profile, image_rule)


_ENCODED = re.compile(r"[\w+/=-]{400,}+")  # pictures, sounds and secrets inside an item are not read as text


class _Cost(NamedTuple):
    """What a part costs: tokens of the vocabulary, which the slope scales, and tokens beside them."""

    counted: int
    added: int = 0


class ProfileCounter:
    """The counter of one profile."""

    def __init__(self, profile: Profile, image_rule: ImageRule) -> None:
        self.profile = profile
        self.name = profile.name
        self.exact = profile.exact
        self._image_rule = image_rule
        self._encoding: Encoding = encoding(profile.vocabulary)

    def text(self, text: str) -> int:
        return self._scaled(self._count(text))

    def message(self, message: Message) -> int:
        cost = self._sum(lowered(message).content)  # some vendors get a note in tags
        return self._scaled(cost.counted) + cost.added + self.profile.per_message

    def tools(self, tools: Sequence[Mapping[str, Any]]) -> int:
        if not tools:
            return 0
        try:
            written = to_json(list(tools)).decode()
        except InvalidInput as error:
            raise InvalidInput("$.tools", expected="tool definitions as JSON", got=error.got) from error
        return self._scaled(self._count(written)) + self.profile.per_tool * len(tools) + self.profile.tools_once

    def _scaled(self, counted: int) -> int:
        return ceil(self.profile.slope * counted)

    def _count(self, text: str) -> int:
        try:
            return self._encoding.count(text)
        except UnicodeEncodeError:  # half of a surrogate pair is sent as a replacement character
            return self._encoding.count(text.encode("utf-8", "replace").decode())

    def _sum(self, parts: Sequence[Part]) -> _Cost:
        costs = [self._cost(part) for part in parts]
        return _Cost(sum(cost.counted for cost in costs), sum(cost.added for cost in costs))

    def _cost(self, part: Part) -> _Cost:
        match part:
            case Text(text=text):
                return _Cost(self._count(text))
            case ToolCall(name=name):
                return _Cost(self._count(name) + self._arguments(part), self.profile.per_call)
            case ToolResult(content=str() as text):
                return _Cost(self._count(text))
            case ToolResult(parts=parts):
                return self._sum(parts)
            case Thinking(redacted=str() as redacted):
                return _Cost(ceil(len(redacted) / _REDACTED_CHARS))
            case Thinking(text=text):
                return _Cost(self._count(text))
            case Native(item=item):
                return _Cost(self._count(_ENCODED.sub("", to_json(item).decode())))
            case Image():
                return _Cost(0, self._image_rule(images.size_of(part)))
            case File():
                return self._file(part)

    def _arguments(self, call: ToolCall) -> int:
        value = call.parsed if self.profile.decodes_arguments else None
        if not isinstance(value, dict):
            return self._count(call.arguments)
        shown = (item if isinstance(item, str) else msgspec.json.encode(item).decode() for item in value.values())
        return sum(map(self._count, value)) + sum(map(self._count, shown))

    def _file(self, file: File) -> _Cost:
        content = data_urls.read(file.path)
        if content is not None and content.mime_type.startswith("text/"):
            return _Cost(self._count(content.data.decode("utf-8", "replace")))
        name = "" if file.path.startswith("data:") else file.path
        return _Cost(self._count(name), _OPAQUE_FILE_TOKENS)
