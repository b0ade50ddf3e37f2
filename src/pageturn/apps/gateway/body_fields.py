"""Reads a body of JSON into fields whose bytes stay as they came, and writes it again."""

from collections.abc import Mapping
from typing import Any

import msgspec

from pageturn.values.errors import InvalidInput, show

FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
ITEMS = msgspec.json.Decoder(list[msgspec.Raw])


def decoded(decoder: msgspec.json.Decoder[Any], data: Any, what: str) -> Any:
    """A value of JSON; raises `InvalidInput` if it is none, and says what it should be."""
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidInput(what, expected="JSON", got=show(error)) from error


def joined(fields: Mapping[str, Any]) -> bytes:
    """The body with these fields, each of them bytes of JSON."""
    return b"{" + b",".join(msgspec.json.encode(name) + b":" + bytes(raw) for name, raw in fields.items()) + b"}"
