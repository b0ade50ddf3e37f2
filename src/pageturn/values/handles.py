"""Makes and parses handles, the names of pages: `p42-7kqe`.

The number is the page's place in the journal; the check is keyed by the session and the page's content. So a text that only
looks like a handle resolves to nothing, and a handle of one fork never means a page of another.
"""

import re
from hashlib import blake2b

_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
# What a handle looks like, for every expression that searches for one.
NUMBER, CHECK = r"[1-9][0-9]{0,14}", r"[a-z2-7]{4}"
HANDLE = f"p{NUMBER}-{CHECK}"
_HANDLE = re.compile(f"p({NUMBER})-({CHECK})")


def check_of(key: bytes, seq: int, digest: str) -> str:
    """The check of a page's handle."""
    bits = int.from_bytes(blake2b(f"{seq}:{digest}".encode(), key=key, digest_size=3).digest(), "big")
    return _LETTERS[bits & 31] + _LETTERS[bits >> 5 & 31] + _LETTERS[bits >> 10 & 31] + _LETTERS[bits >> 15 & 31]


def handle(seq: int, check: str) -> str:
    """The handle of the page at `seq`."""
    return f"p{seq}-{check}"


def parse_range(text: str) -> tuple[str, str] | None:
    """The first and the last handle of a range, `p3-abcd..p9-efgh`; None if the text is not a range."""
    first, dots, last = text.partition("..") if isinstance(text, str) else ("", "", "")
    return (first, last) if dots and parse(first) is not None and parse(last) is not None else None


def parse(text: str) -> tuple[int, str] | None:
    """The number and the check of a handle; None if the text is not a handle."""
    found = _HANDLE.fullmatch(text) if isinstance(text, str) else None
    return (int(found[1]), found[2]) if found else None
