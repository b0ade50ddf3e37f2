"""Splits a request without parsing all of it: its fields unchanged, and its history as items with their fingerprints."""

from collections.abc import Mapping
from functools import cached_property
from types import ModuleType
from typing import Any

import msgspec

from pageturn.apps.gateway.body_fields import FIELDS, ITEMS, decoded
from pageturn.apps.gateway.decoding import unpacked
from pageturn.apps.gateway.fingerprints import text_fingerprint
from pageturn.apps.gateway.identity import Identity, identity_in
from pageturn.apps.gateway.items import ItemReader, load_items
from pageturn.formats import anthropic, openai_chat, openai_responses
from pageturn.tokens.counters import counter_for
from pageturn.tokens.windows import DEFAULT_MODEL
from pageturn.values.errors import InvalidInput
from pageturn.values.messages import Message, Native

_VALUE = msgspec.json.Decoder()


class ModelRequest:
    """A request for an answer of a model."""

    def __init__(self, format_: ModuleType, body: bytes, identity: Identity | None, reader: ItemReader) -> None:
        self.format = format_
        self.body = body
        self.fields = decoded(FIELDS, body, "body")
        self.identity = identity or (identity_in(self.field("metadata")) if format_ is anthropic else None)
        self.key = "input" if format_ is openai_responses else "messages"
        raws = self._raws()
        items = reader.read(format_, raws)
        end = next((at for at, item in enumerate(items) if not item.opens), len(items))
        self.opening = raws[:end]  # instructions that are among the items, before the conversation
        self.raws, self.items = raws[end:], items[end:]
        self._has_tools = any(item.has_tools for item in items)

    @classmethod
    def read(
        cls, format_: ModuleType, body: bytes, encoding: str | None, identity: Identity | None, reader: ItemReader
    ) -> "ModelRequest":
        """Read a request body; raises `InvalidInput` if it cannot be understood."""
        return cls(format_, b"".join(unpacked((body,), encoding)) if encoding else body, identity, reader)

    @cached_property
    def model(self) -> str | None:
        """The requested model."""
        model = self.field("model")
        return model if isinstance(model, str) else None

    @cached_property
    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """The tools of the field `tools`."""
        tools = self.field("tools")
        return tuple(tool for tool in tools if isinstance(tool, dict)) if isinstance(tools, list) else ()

    @cached_property
    def system(self) -> str:
        """The instructions that open the request, with tools given as items, as one text."""
        settings = (
            [self.field("system" if self.format is anthropic else "instructions")]
            if self.key != "messages" or self.format is anthropic
            else []
        )
        texts = [text for each in settings for text in _texts(each)]
        for message in load_items(self.format, self.opening):
            texts += [message.text] if message.text else []
            texts += [msgspec.json.encode(part.item).decode() for part in message.content if isinstance(part, Native)]
        return "\n\n".join(texts)

    @cached_property
    def opening_digest(self) -> str:
        """The digest of the opening, without lines that a client changes each time."""
        return text_fingerprint(self.system.split("\n\n"))

    @property
    def follows(self) -> str | None:
        """The answer that the items continue, if they are not the whole conversation."""
        id_ = self.field("previous_response_id")
        return id_ if isinstance(id_, str) else None

    @property
    def is_kept_elsewhere(self) -> bool:
        """Whether the vendor stores the conversation, so that the gateway does not see all of it."""
        return self.field("conversation") is not None

    @cached_property
    def is_side_call(self) -> bool:
        """Whether this is a side call, such as one for a title: it has no tools, or wants JSON of a given schema."""
        return not (self.tools or self._has_tools) or self._wants_form()

    @cached_property
    def can_recall(self) -> bool:
        """Whether its answer can be continued by the gateway: there is only one, and it comes with this request."""
        number = self.field("n") if self.format is openai_chat else None
        return not (isinstance(number, int) and number > 1) and self.field("background") is not True

    @property
    def is_compaction(self) -> bool:
        """Whether a client asks for a summary of its history, to continue with that instead."""
        return bool(self.items) and self.items[-1].is_compacting

    def field(self, name: str) -> Any:
        """A field besides the history; None if absent."""
        raw = self.fields.get(name)
        return decoded(_VALUE, raw, name) if raw is not None else None

    def new_messages(self, known: int) -> list[list[Message]]:
        """The messages of the items after the known ones, in groups: consecutive items of the model are one."""
        groups: list[list[Message]] = []
        at = known
        while at < len(self.raws):
            end = self.group_end(at)
            groups.append(load_items(self.format, self.raws[at:end]))
            at = end
        return groups

    def group_end(self, at: int) -> int:
        """The end of the group that begins at an item."""
        end = at + 1
        while (
            self.format is openai_responses
            and self.items[at].by_model
            and end < len(self.items)
            and self.items[end].by_model
        ):
            end += 1
        return end

    def _raws(self) -> list[bytes]:
        raw = self.fields.get(self.key)
        if raw is None:
            raise InvalidInput(self.key, expected="a list", got="nothing")
        if bytes(raw).lstrip()[:1] == b'"' and self.format is openai_responses:
            return [b'{"role":"user","content":' + bytes(raw) + b"}"]
        return [bytes(each) for each in decoded(ITEMS, raw, self.key)]

    def _wants_form(self) -> bool:
        """Whether the answer has to follow a JSON schema, in any of the three ways to request that."""
        places = (self.field("output_config"), self.field("text"), {"response_format": self.field("response_format")})
        forms = (each.get("format") or each.get("response_format") for each in places if isinstance(each, Mapping))
        return any(isinstance(form, Mapping) and form.get("type") == "json_schema" for form in forms)


class ToolTokens:
    """The tokens of a client's tools, which are mostly the same as in the last request."""

    def __init__(self) -> None:
        self._last: tuple[bytes, str | None, int] = (b"", None, 0)

    def of(self, request: ModelRequest) -> int:
        """The tokens of a request's tools, by our count."""
        raw = bytes(request.fields.get("tools", b""))
        if self._last[:2] != (raw, request.model):
            counted = counter_for(request.model or DEFAULT_MODEL).tools(request.tools) if request.tools else 0
            self._last = (raw, request.model, counted)
        return self._last[2]


def _texts(given: Any) -> list[str]:
    if isinstance(given, str):
        return [given]
    blocks = given if isinstance(given, list) else []
    return [each["text"] for each in blocks if isinstance(each, dict) and isinstance(each.get("text"), str)]
