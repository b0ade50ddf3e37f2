"""Defines what one client may take of a gateway: connections, bytes and time. And which paths are none."""

import re
from typing import NamedTuple
from urllib.parse import unquote

MOST_HEADER_BYTES = 64 * 1024  # of a request's line and headers
MOST_HEADERS = 200
_ODD = re.compile(r"[\x00-\x1f\x7f\\]")


class Limits(NamedTuple):
    """Limits of one gateway, for all clients together or for each."""

    connections: int = 4_000
    requests: int = 2_000  # that are on their way
    header_seconds: int = 20  # until the headers of a request are whole
    body_seconds: int = 300  # until its body is
    reading_seconds: int = 300  # for which a client may leave what was sent unread
    body_bytes: int = 256 * 1024 * 1024


def is_odd(path: str) -> bool:
    """Whether a path tries to be another one at the upstream: by going up, by letters that are none, or by naming a host."""
    plain = path
    for _ in range(3):  # what is escaped twice is unescaped twice by some servers
        if not plain.startswith("/") or _ODD.search(plain) or ".." in plain.split("/") or "." in plain.split("/"):
            return True
        again = unquote(plain, errors="replace")
        if again == plain:
            return False
        plain = again
    return _ODD.search(plain) is not None or ".." in plain.split("/")
