"""Counts the tokens of texts, messages and tools for a given model.

OpenAI's models are counted exactly. The others have no exact offline tokenizer, so their counts are estimated from the o200k
count with a slope and an offset that were fitted to prompt sizes reported by providers (docs/tokens.md).

Everything that a `dump` of the formats sends is charged: texts, names, ids, unknown fields, signatures and whole vendor items. The
overhead of a message and of a call was measured with typical ids, so ids are charged only if they are longer.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from math import ceil
from typing import Any, NamedTuple, Protocol

import msgspec

from pageturn.tokens import images
from pageturn.tokens.encodings import Encoding, encoding
from pageturn.tokens.families import VERSION, Profile, family_of
from pageturn.tokens.images import ImageRule
from pageturn.tokens.opaque import Opened, encrypted_tokens, file_tokens
from pageturn.values import data_urls
from pageturn.values.checks import require_instance, require_methods, require_several, require_text
from pageturn.values.errors import InvalidInput
from pageturn.values.fillers import CONTINUED, HEARD, NO_OUTPUT, NOT_AN_OBJECT
from pageturn.values.json import Open, to_json
from pageturn.values.messages import (
    File,
    Image,
    Message,
    Native,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    require_sound,
)
from pageturn.values.reminders import is_note, reminder


class TokenCounter(Protocol):
    """The interface of a counter."""

    @property
    def name(self) -> str:
        """Its name. Sizes are stored under it: counters that may differ in any count have different names."""
        ...

    @property
    def exact(self) -> bool:
        """Whether text counts are the provider's own, and not an estimate."""
        ...

    @property
    def described(self) -> str:
        """A description of how it counts, for people."""
        ...

    def text(self, text: str) -> int:
        """The tokens of a text."""
        ...

    def message(self, message: Message) -> int:
        """The tokens of a message, with what the vendor adds to each."""
        ...

    def tools(self, tools: Sequence[Mapping[str, Any]]) -> int:
        """The tokens of the tool definitions, in any vendor's form; a definition in none counts in the largest of the forms."""
        ...


def require_counter(counter: TokenCounter) -> None:
    """Raise `InvalidInput` for an object that lacks what a counter must have."""
    require_methods("counter", counter, "text", "message", "tools")
    require_text("counter.name", getattr(counter, "name", None))


_FORMATS = ("openai_chat", "openai_responses", "anthropic", "gemini")  # which keep fields in `extra`
_FRAME = ("id", "item", "status", "cache_control", "as", "no id", "in the middle")  # kept fields that no model reads
_WHOLE = "whole"  # a kept item that its vendor gets instead of the text
_FITTING = re.compile(r"[a-zA-Z0-9_-]{0,64}+")  # names of tools that are sent unchanged to any vendor
_LONGEST_NAME = 128
_STAND_IN = 16  # tokens of the words around an image's address or type if a vendor cannot show it
_NEUTRAL = {"name", "description", "parameters"}  # the fields of a definition in no vendor's form


def counter_for(model: str) -> TokenCounter:
    """The counter for a model, by its name; an unknown one is estimated."""
    require_instance("model", model, str)
    return _counter_of(model)


@lru_cache(maxsize=256)
def _counter_of(model: str) -> TokenCounter:
    return _counter(*family_of(model))


@cache
def _counter(profile: Profile, image_rule: ImageRule) -> "ProfileCounter":
    return ProfileCounter(profile, image_rule)


class _Cost(NamedTuple):
    """The tokens of a part.

    The slope scales what is `counted` in the vocabulary and the `framed` ids; `added` is unscaled. `frame` is what the vendor adds; of
    `frame` and `framed` only the larger is charged.
    """

    counted: int = 0
    added: int = 0
    frame: int = 0
    framed: int = 0

    def __or__(self, other: "_Cost") -> "_Cost":
        """A cost that is enough for either."""
        return _Cost(*map(max, self, other))


_NOTHING = _Cost()


def _sum(costs: Sequence[_Cost]) -> _Cost:
    counted = added = frame = framed = 0  # written out, because every appended message passes here
    for cost in costs:
        counted += cost[0]
        added += cost[1]
        frame += cost[2]
        framed += cost[3]
    return _Cost(counted, added, frame, framed)


class ProfileCounter:
    """The counter of one profile."""

    def __init__(self, profile: Profile, image_rule: ImageRule) -> None:
        self.profile = profile
        vocabularies = "+".join(name.removesuffix("_base") for name in profile.vocabularies)
        self.name = f"{profile.name}/{vocabularies}/{image_rule.name}/{VERSION}"
        self.exact = profile.exact
        self.described = profile.described
        self._image_rule = image_rule
        self._encodings: list[Encoding] = [encoding(name) for name in profile.vocabularies]
        self._filler_tokens: dict[str, int] = {}

    def text(self, text: str) -> int:
        require_instance("text", text, str)
        return self._scaled(self._count(text))

    def message(self, message: Message) -> int:
        require_sound(message)
        costs = [self._cost(part) for part in message.content]
        if message.extra:  # repeated in a format that has a message for each result
            costs += [self._kept(message)] * max(1, len(message.tool_results))
        cost = costs[0] if len(costs) == 1 else _sum(costs)
        counted = max(cost.counted, self._count(reminder(message.text))) if self._is_tagged(message) else cost.counted
        frame = max(self.profile.per_message + cost.frame, self._scaled(cost.framed))
        return self._scaled(counted) + cost.added + frame + self._fillers(message)

    def opening(self, first: Role) -> int:
        """What is sent before the first message of a conversation that this role begins."""
        return self._filler(CONTINUED) if first is Role.ASSISTANT else 0

    def _is_tagged(self, message: Message) -> bool:
        """Whether a message may be sent in tags: a program's note with some vendors, any instruction if only the first may be one."""
        return is_note(message) or (not self.profile.exact and message.role in (Role.SYSTEM, Role.DEVELOPER))

    def _fillers(self, message: Message) -> int:
        """The fixed texts that may be sent before or after a message."""
        if self.profile.exact:
            return 0
        if message.role is Role.ASSISTANT:
            return 0 if message.tool_calls else self._filler(CONTINUED)
        # Instructions too, which are sent as the user's there.
        may_follow_results = self.profile.is_template and not message.tool_results
        return self._filler(HEARD) if may_follow_results else 0

    def _filler(self, text: str) -> int:
        if text not in self._filler_tokens:
            self._filler_tokens[text] = self._scaled(self._count(text)) + self.profile.per_message
        return self._filler_tokens[text]

    def tools(self, tools: Sequence[Mapping[str, Any]]) -> int:
        require_several("$.tools", tools, "tool definitions")
        if not tools:
            return 0
        try:
            written = to_json([self._declared(tool) for tool in tools]).decode()
        except InvalidInput as error:
            raise InvalidInput("$.tools", expected="tool definitions as JSON", got=error.got) from error
        return self._scaled(self._count(written)) + self.profile.per_tool * len(tools) + self.profile.tools_once

    def _scaled(self, counted: int) -> int:
        return ceil(self.profile.slope * counted)

    def _count(self, text: str) -> int:
        try:
            return self._widest(text)
        except UnicodeEncodeError:  # half of a surrogate pair is sent as a replacement character
            return self._widest(text.encode("utf-8", "replace").decode())

    def _widest(self, text: str) -> int:
        """The count of the first vocabulary, or more if another vocabulary's count exceeds what the slope covers."""
        first, *others = self._encodings
        count = first.count(text)
        return max(count, *(ceil(each.count(text) / self.profile.slope) for each in others)) if others else count

    def _cost(self, part: Part) -> _Cost:
        kept = self._kept(part) if part.extra else _NOTHING
        match part:
            case Text(text=text):
                cost = _Cost(self._count(text))
                return cost if kept is _NOTHING else self._kept_text(part, cost, kept)
            case ToolCall():
                cost = self._call(part)
            case ToolResult():
                cost = self._result(part)
            case Thinking():
                cost = self._thinking(part)
            case Native(item=item, text=text):
                cost = _Cost(self._count(text)) | self._item(item)
            case Image():
                cost = self._image(part)
            case File():
                cost = self._file(part)
        return cost if kept is _NOTHING else _sum([cost, kept])

    def _kept_text(self, part: Text, text: _Cost, kept: _Cost) -> _Cost:
        is_item = any(_WHOLE in fields for fields in _kept_fields(part))
        return text | kept if is_item else _sum([text, kept])

    def _call(self, call: ToolCall) -> _Cost:
        name = self._count(call.name)
        if not _FITTING.fullmatch(call.name):  # sent with replaced characters, each of them at most one token
            name = max(name, min(len(call.name), _LONGEST_NAME))
        times = 2 if self.profile.names_results else 1
        signature = self._encrypted(call.thought_signature) if call.thought_signature else 0
        ids = self._count(call.id) + (not call.name)  # an empty name is sent as an underscore
        return _Cost(times * name + self._arguments(call) + signature, 0, self.profile.per_call, ids)

    def _arguments(self, call: ToolCall) -> int:
        """What the model sees of the arguments: their text, or their keys and values. Anything but an object is sent inside one."""
        kind, value = self.profile.arguments, call.parsed
        text = values = self._count(call.arguments)
        if not isinstance(value, dict):
            words = call.arguments.encode("utf-8", "replace").decode()
            value = {NOT_AN_OBJECT: words} if words.strip() else {}
            text = max(text, self._count(msgspec.json.encode(value).decode())) if value else text
        if kind != "text":
            shown = (item if isinstance(item, str) else msgspec.json.encode(item).decode() for item in value.values())
            values = sum(map(self._count, value)) + sum(map(self._count, shown))
        return {"text": text, "values": values, "larger": max(text, values)}[kind]

    def _result(self, result: ToolResult) -> _Cost:
        ids = _Cost(framed=self._count(result.tool_call_id))
        if isinstance(result.content, str):
            return _Cost(self._count(result.content if result.content.strip() else NO_OUTPUT), framed=ids.framed)
        return _sum([ids, *map(self._cost, result.content or (Text(text=NO_OUTPUT),))])

    def _thinking(self, thinking: Thinking) -> _Cost:
        payloads = (thinking.signature, thinking.redacted)
        return _Cost(self._count(thinking.text) + sum(self._encrypted(payload) for payload in payloads if payload))

    def _encrypted(self, payload: str) -> int:
        tokens = encrypted_tokens(payload)
        return tokens if tokens is not None else self._count(payload)

    def _kept(self, value: Open) -> _Cost:
        """The kept fields, which are sent back to the vendor whose format kept them. Only one vendor gets its own, so the largest counts."""
        cost = _NOTHING
        for fields in _kept_fields(value):
            if _WHOLE in fields:
                cost |= self._item(fields)
                continue
            frame = {name: fields[name] for name in _FRAME if name in fields}
            rest = {name: fields[name] for name in fields if name not in frame}
            framed = self._count(to_json(frame).decode()) if frame else 0
            cost |= (self._item(rest) if rest else _NOTHING)._replace(framed=framed)
        return cost

    def _item(self, item: Mapping[str, Any]) -> _Cost:
        """A vendor's item: its JSON as text, and its content that is not text."""
        written = to_json(item)
        opened = Opened(item)
        if not opened.is_words:
            written = to_json(opened.words)
        pictures = sum(self._image_rule(images.size_of(picture)) for picture in opened.pictures)
        counted = self._count(written.decode()) + opened.encrypted_tokens
        return _Cost(counted, pictures + opened.file_tokens)

    def _image(self, image: Image) -> _Cost:
        header = _header(image.url)
        words = self._count(image.url if header is None else header)
        if header is not None and header.startswith("data:text/"):  # which one vendor reads as plain text
            words += self._text_of(image.url)
        tokens = max(self._image_rule(images.size_of(image)), self._scaled(words) + _STAND_IN)
        return _Cost(added=tokens, framed=self._count(image.mime_type or ""))

    def _file(self, file: File) -> _Cost:
        mime_type = self._count(file.mime_type or "")
        header = _header(file.path)
        if header is None:
            return _Cost(self._count(file.path), file_tokens(0), framed=mime_type)
        typed = self._count(header[100:])  # a type that long is not a type, and is sent all the same
        if header.startswith("data:text/") and data_urls.read(file.path) is not None:
            return _Cost(self._text_of(file.path) + typed, framed=mime_type)
        return _Cost(typed, file_tokens((len(file.path) - len(header)) * 3 // 4), framed=mime_type)

    def _text_of(self, url: str) -> int:
        content = data_urls.read(url)
        return self._count(content.data.decode("utf-8", "replace")) if content is not None else 0

    def _declared(self, tool: Mapping[str, Any]) -> Mapping[str, Any]:
        """A definition as it is sent; one in no vendor's form as our own, in the largest form."""
        if not isinstance(tool, Mapping) or "name" not in tool or not tool.keys() <= _NEUTRAL:
            return tool
        return max(_declarations(tool), key=lambda form: self._count(to_json(form).decode()))


def _kept_fields(value: Open) -> list[dict[str, Any]]:
    extra = value.extra or {}
    return [fields for name in _FORMATS if isinstance(fields := extra.get(name), dict) and fields]


def _header(url: str) -> str | None:
    """The header of a data: URL; None for any other text."""
    comma = url.find(",") if url.startswith("data:") else -1
    return url[:comma] if comma >= 0 else None


def _declarations(tool: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A definition in every vendor's form."""
    named = {name: tool[name] for name in tool if name != "parameters"}
    schema = {"input_schema": tool["parameters"]} if "parameters" in tool else {}
    return [
        {"type": "function", "function": tool},
        {"type": "function", **tool, "strict": False},
        {**named, **schema, "cache_control": {"type": "ephemeral"}},
        {"function_declarations": [tool]},
    ]
