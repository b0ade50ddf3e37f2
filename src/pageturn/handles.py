"""Handles: the names by which pages are asked for, `p42-7kqe`.

The number is the page's place in the journal; the check is keyed by the session and by the page's content. So a text that
merely looks like a handle resolves to nothing, and a handle of one fork never means a page of another.
"""

import re
from base64 import b32encode
from hashlib import blake2b

_HANDLE = re.compile(r"p([1-9][0-9]{0,14})-([a-z2-7]{4})")


def check_of(key: bytes, seq: int, digest: str) -> str:
    """The check of a page's handle."""
    return b32encode(blake2b(f"{seq}:{digest}".encode(), key=key, digest_size=5).digest())[:4].decode().lower()


def handle(seq: int, check: str) -> str:
    """The handle of the page at `seq`."""
    return f"p{seq}-{check}"


def parse(text: str) -> tuple[int, str] | None:
    """The number and the check of a handle, or None where the text is none."""
    found = _HANDLE.fullmatch(text)
    return (int(found[1]), found[2]) if found else None
