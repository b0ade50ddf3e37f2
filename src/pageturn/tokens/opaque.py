"""Charges vendor payloads that are not text.

An image is charged as an image, a document or audio by its bytes, and encrypted content by the text that it can hold. Only content
that is known to be one of these is opaque: any other base64 is charged as text.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from math import ceil
from typing import Any

from pageturn.values.messages import Image

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*+={0,2}+")
_ENCRYPTED = ("encrypted_content", "signature", "thought_signature", "thoughtSignature")
_ENCRYPTED_CHARS = 4  # base64 has 4 characters for 3 bytes, and 3 bytes of text are hardly ever more than a token
_LEAST_FILE_TOKENS = 2_000  # a document whose text cannot be read here
_BYTES_A_TOKEN = 100  # of a document or a sound; a page of a PDF is some 50 to 300 kB for 1,500 to 3,000 tokens
_SHORTEST = 64  # characters of a payload; counting a shorter one is cheaper than detecting its type
_HEAD = 32  # characters that show its type
_PICTURES = (b"\x89PN", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*")
_FILES = (b"%PDF", b"PK\x03\x04", b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"OggS", b"fLaC", b"\x1aE\xdf\xa3")


def encrypted_tokens(payload: str) -> int | None:
    """The most that an encrypted payload can cost; None if it is not base64, and so must be counted as text."""
    return ceil(len(payload) / _ENCRYPTED_CHARS) if _BASE64.fullmatch(payload) else None


def file_tokens(size: int) -> int:
    """The tokens of a document or a sound of this many bytes."""
    return max(_LEAST_FILE_TOKENS, size // _BYTES_A_TOKEN)


class Opened:
    """An item taken apart: its text, and everything else."""

    def __init__(self, item: Any) -> None:
        self.pictures: list[Image] = []
        self.file_tokens = 0
        self.encrypted_tokens = 0
        self.words = self._without(item, "")

    @property
    def is_words(self) -> bool:
        """Whether nothing in it is opaque."""
        return not (self.pictures or self.file_tokens or self.encrypted_tokens)

    def _without(self, value: Any, name: str) -> Any:
        """The value with an empty text for everything that is opaque."""
        match value:
            case str() if name in _ENCRYPTED and (tokens := encrypted_tokens(value)) is not None:
                self.encrypted_tokens += tokens
                return ""
            case str():
                return self._text(value, name)
            case bytes() | bytearray():
                return self._without(base64.b64encode(value).decode(), name)
            case Mapping():
                return {key: self._without(inner, name if key == "url" else key) for key, inner in value.items()}
            case list() | tuple():
                return [self._without(inner, name) for inner in value]
            case _:
                return value

    def _text(self, text: str, name: str) -> str:
        if name == "image_url" or text.startswith("data:image/"):
            self.pictures.append(Image(url=text))
            return text.partition(",")[0] if text.startswith("data:") else text
        if text.startswith("data:"):
            header, _, payload = text.partition(",")
            if header.endswith(";base64") and _BASE64.fullmatch(payload):
                self.file_tokens += file_tokens(len(payload) * 3 // 4)
                return header
        if len(text) < _SHORTEST or (kind := _kind(text[:_HEAD])) is None or not _BASE64.fullmatch(text):
            return text
        if kind == "picture":
            self.pictures.append(Image(url=f"data:;base64,{text}"))
        else:
            self.file_tokens += file_tokens(len(text) * 3 // 4)
        return ""


def _kind(start: str) -> str | None:
    """What base64 with this beginning contains; None if it is unknown."""
    try:
        head = base64.b64decode(start.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return None
    if head.startswith(b"RIFF"):
        return "picture" if head[8:12] == b"WEBP" else "file"
    if head[4:8] == b"ftyp":
        return "picture" if head[8:11] in (b"avi", b"hei", b"mif") else "file"
    return "picture" if head.startswith(_PICTURES) else "file" if head.startswith(_FILES) else None
