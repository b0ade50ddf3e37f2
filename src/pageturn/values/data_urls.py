"""Reads data: URLs, which contain an image or a document."""

import base64
import binascii
from typing import NamedTuple
from urllib.parse import unquote_to_bytes


class DataUrl(NamedTuple):
    """The content of a data: URL."""

    mime_type: str
    data: bytes


def read(url: str) -> DataUrl | None:
    """The content of a data: URL; None if the text is not one or is damaged."""
    header, comma, payload = url.partition(",")
    if not comma or not header.startswith("data:"):
        return None
    mime_type, *parameters = header.removeprefix("data:").split(";")
    try:
        data = base64.b64decode(payload, validate=True) if "base64" in parameters else unquote_to_bytes(payload)
    except (binascii.Error, ValueError):
        return None
    return DataUrl(mime_type or "text/plain", data)
