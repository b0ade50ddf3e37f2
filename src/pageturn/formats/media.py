"""Decides which images and documents a vendor accepts, and writes placeholder text for the others."""

from collections.abc import Callable, Collection
from typing import Any

from pageturn.values import data_urls
from pageturn.values.data_urls import DataUrl
from pageturn.values.messages import File, Image, Native, Part

PICTURES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
PDF = "application/pdf"
_BEGINNINGS = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"%PDF": PDF,
}


def is_inline(url: str) -> bool:
    """Whether the content is in the URL itself."""
    return url.startswith("data:")


def is_web(url: str) -> bool:
    """Whether the content is at a web address; otherwise it is inline, a vendor's id, or a path."""
    return url.startswith(("https://", "http://"))


def inline(url: str, mime_types: Collection[str] = ()) -> DataUrl | None:
    """The content of a data: URL under its actual type, whatever it declares; None if that is not one of these types."""
    header, _, data = url.partition(",")
    content = data_urls.read(f"{header},{''.join(data.split())}") if is_inline(url) else None
    if content is None or not content.data:
        return None
    mime_type = _told_by(content.data) or content.mime_type.lower()
    return DataUrl(mime_type, content.data) if not mime_types or mime_type in mime_types else None


def _told_by(data: bytes) -> str | None:
    """The type by the first bytes. Vendors check, and reject an image whose declared type is wrong."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime_type for beginning, mime_type in _BEGINNINGS.items() if data.startswith(beginning)), None)


def words_in(path: str) -> str | None:
    """The text of a text document that is given in full; None if it is not one, or is empty."""
    content = inline(path)
    if content is None or not content.mime_type.startswith("text/"):
        return None
    text = content.data.decode("utf-8", "replace")
    return text if text.strip() else None


def in_words(part: Part, vendor: str, say: Callable[[str], dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks of a part that no other form fits: the vendor's own item unchanged, else the words of a text document or a placeholder.

    `say` makes a block of a text.
    """
    if isinstance(part, Native) and part.vendor == vendor and isinstance(part.item.get("type"), str):
        return [dict(part.item)]
    said = (words_in(part.path) if isinstance(part, File) else None) or placeholder(part)
    return [say(said)] if said else []


def placeholder(part: Part) -> str:
    """The text for a part that cannot be shown; empty if there is nothing to say."""
    match part:
        case Image(url=url):
            return f"[image {_named(url)}]"
        case File(path=path):
            return f"[file {_named(path)}]"
        case Native(text=text):
            return text if text.strip() else ""
        case _:
            return ""


def _named(url: str) -> str:
    content = data_urls.read(url)
    return f"{content.mime_type}, {len(content.data):,} bytes" if content else url[:200]
