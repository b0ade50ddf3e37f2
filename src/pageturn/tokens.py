"""Tokens: how much of a window a text, a message or a tool takes.

OpenAI's models are counted exactly. For the others no exact tokenizer exists offline, so they are estimated from the
o200k count with a slope and an offset that were fitted on prompt sizes that providers reported (docs/tokens.md), and a
`Calibration` corrects what is left from the usage that a session sees.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from functools import cache
from math import ceil
from typing import Any, Protocol

import msgspec

from pageturn import images
from pageturn.encodings import Encoding, encoding
from pageturn.errors import InvalidInput
from pageturn.images import ImageRule
from pageturn.messages import File, Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from pageturn.wire import Closed


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


class Profile(Closed, frozen=True):
    """How one family of models counts: tokens = slope x vocabulary count + what the vendor adds."""

    name: str
    vocabulary: str = "o200k_base"
    exact: bool = False
    slope: float = 1.0
    per_message: int = 4
    per_call: int = 25
    per_tool: int = 8
    tools_once: int = 16
    decodes_arguments: bool = False  # whether the vendor shows the model a call's values instead of its JSON text


# Fitted and checked by `make calibrate`; the figures are in docs/tokens.md.
_OPENAI = Profile("openai", exact=True)
_OPENAI_OLD = Profile("openai-cl100k", vocabulary="cl100k_base", exact=True)
_ANTHROPIC = Profile("anthropic", slope=1.25, per_call=80, per_tool=53, tools_once=549, decodes_arguments=True)
_GEMINI = Profile("gemini", slope=1.2, per_call=0)
_UNKNOWN = Profile("unknown", slope=1.1)

# The first entry that the model's name contains wins, so the special stands before the general.
_PROFILES: tuple[tuple[str, Profile, ImageRule], ...] = (
    ("claude", _ANTHROPIC, images.anthropic),
    ("gemini", _GEMINI, images.gemini),
    ("gpt-4o-mini", _OPENAI, images.openai_tiles(2_833, 5_667)),
    ("gpt-4o", _OPENAI, images.openai_tiles(85, 170)),
    ("gpt-4.1-mini", _OPENAI, images.openai_patches(1.62)),
    ("gpt-4.1-nano", _OPENAI, images.openai_patches(2.46)),
    ("gpt-4.", _OPENAI, images.openai_tiles(85, 170)),
    ("gpt-4", _OPENAI_OLD, images.openai_tiles(85, 170)),
    ("gpt-3", _OPENAI_OLD, images.openai_tiles(85, 170)),
    ("gpt-5-mini", _OPENAI, images.openai_patches(1.62)),
    ("gpt-5-nano", _OPENAI, images.openai_patches(2.46)),
    ("o4-mini", _OPENAI, images.openai_patches(1.72)),
    ("gpt-", _OPENAI, images.openai_tiles(70, 140)),
    ("o1", _OPENAI, images.openai_tiles(75, 150)),
    ("o3", _OPENAI, images.openai_tiles(75, 150)),
    ("", _UNKNOWN, images.anthropic),
)

_OPAQUE_FILE_TOKENS = 2_000  # a document whose text nobody here can read
_REDACTED_CHARS = 5  # base64 of encrypted text: 4/3 characters a byte, about 4 bytes a token


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
        counted = sum(map(self._part, message.content))
        added = sum(self._added(part) for part in message.content)
        return self._scaled(counted) + added + self.profile.per_message

    def tools(self, tools: Sequence[Mapping[str, Any]]) -> int:
        if not tools:
            return 0
        try:
            written = msgspec.json.encode(tools).decode()
        except TypeError as error:
            raise InvalidInput("$.tools", expected="tool definitions as JSON", got=str(error)) from error
        return self._scaled(self._count(written)) + self.profile.per_tool * len(tools) + self.profile.tools_once

    def _scaled(self, counted: int) -> int:
        return ceil(self.profile.slope * counted)

    def _count(self, text: str) -> int:
        try:
            return self._encoding.count(text)
        except UnicodeEncodeError:  # half of a surrogate pair is sent as a replacement character
            return self._encoding.count(text.encode("utf-8", "replace").decode())

    def _part(self, part: Part) -> int:
        """What a part counts in the vocabulary."""
        match part:
            case Text(text=text):
                return self._count(text)
            case ToolCall(name=name, arguments=arguments):
                return self._count(name) + self._arguments(arguments)
            case ToolResult(content=str() as text):
                return self._count(text)
            case ToolResult(content=tuple() as parts):
                return sum(map(self._part, parts))
            case Thinking(redacted=str() as redacted):
                return ceil(len(redacted) / _REDACTED_CHARS)
            case Thinking(text=text):
                return self._count(text)
            case File(path=path):
                return self._count(_inline_text(path) or path)
        return 0

    def _added(self, part: Part) -> int:
        """What a part costs beside its text."""
        match part:
            case Image():
                return self._image_rule(images.size_of(part))
            case File(path=path):
                return 0 if _inline_text(path) else _OPAQUE_FILE_TOKENS
            case ToolCall():
                return self.profile.per_call
            case ToolResult(content=tuple() as parts):
                return sum(map(self._added, parts))
        return 0

    def _arguments(self, arguments: str) -> int:
        if not self.profile.decodes_arguments:
            return self._count(arguments)
        try:
            value = msgspec.json.decode(arguments)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return self._count(arguments)
        if not isinstance(value, dict):
            return self._count(arguments)
        shown = (item if isinstance(item, str) else msgspec.json.encode(item).decode() for item in value.values())
        return sum(map(self._count, value)) + sum(map(self._count, shown))


def counter_for(model: str) -> ProfileCounter:
    """The counter for a model, by its name; an unknown one is estimated."""
    name = model.lower()
    return next(_counter(profile, rule) for part, profile, rule in _PROFILES if part in name)


@cache
def _counter(profile: Profile, image_rule: ImageRule) -> ProfileCounter:
    return ProfileCounter(profile, image_rule)


def _inline_text(path: str) -> str | None:
    """The text of a document that is given whole as a data: URL."""
    header, _, payload = path.partition(",")
    if not header.startswith("data:text/") or not header.endswith(";base64"):
        return None
    try:
        return base64.b64decode(payload).decode("utf-8", "replace")
    except binascii.Error:
        return None


class Calibration(Closed, frozen=True):
    """What a session learns from reported usage: provider tokens = hidden + factor x our count.

    The sums of a weighted least-squares line; older reports fade, so a switch of model is forgotten.
    """

    weight: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    xy: float = 0.0

    def observe(self, *, counted: int, reported: int) -> "Calibration":
        """The calibration after one more report for a prompt that we counted."""
        if counted <= 0 or reported <= 0:
            raise InvalidInput(
                "$.usage", expected="token counts above 0", got=f"{counted} counted, {reported} reported"
            )
        keep = _FADE
        return Calibration(
            weight=keep * self.weight + 1.0,
            x=keep * self.x + counted,
            y=keep * self.y + reported,
            xx=keep * self.xx + counted * counted,
            xy=keep * self.xy + counted * reported,
        )

    @property
    def factor(self) -> float:
        """Provider tokens for each of ours, in hundredths so that it moves rarely."""
        if self.weight == 0.0:
            return 1.0
        spread = self.weight * self.xx - self.x * self.x
        if spread <= _FLAT * self.x * self.x:  # prompts of one size tell nothing about the slope
            slope = self.y / self.x
        else:
            slope = (self.weight * self.xy - self.x * self.y) / spread
        return round(min(max(slope, 0.5), 4.0), 2)

    @property
    def hidden_tokens(self) -> int:
        """What the provider adds to every prompt and we do not see: a system prompt or tools of a harness."""
        return max(0, round((self.y - self.factor * self.x) / self.weight)) if self.weight else 0

    def expected(self, counted: int) -> int:
        """What the provider will report for a prompt of this count."""
        return self.hidden_tokens + ceil(self.factor * counted)

    def room(self, budget_tokens: int) -> int:
        """The largest count whose expected report stays within a budget."""
        return max(0, int((budget_tokens - self.hidden_tokens) / self.factor))


_FADE = 0.95
_FLAT = 1e-3
