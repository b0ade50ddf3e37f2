"""Defines what one client may take of a gateway: connections, bytes and time; and which paths are refused."""

import re
from typing import NamedTuple
from urllib.parse import unquote

MOST_HEADER_BYTES = 64 * 1024  # of a request's line and headers
MOST_HEADERS = 200
_ESCAPED = 4  # times that a path may be escaped: some servers unescape more than once
_VERSION = re.compile(r"^/+(?:v1/+){0,2}")
_ODD = re.compile(r"[\x00-\x1f\x7f\\]")


class Limits(NamedTuple):
    """Limits of one gateway, for all clients together or for each."""

    connections: int = 4_000
    requests: int = 2_000  # that are on their way
    header_seconds: int = 20  # until the headers of a request are whole
    body_seconds: int = 300  # until its body is
    reading_seconds: int = 300  # for which a client may leave what was sent unread
    idle_seconds: int = 300  # for which an upstream may send nothing more of an answer
    body_bytes: int = 256 * 1024 * 1024


def is_odd(path: str) -> bool:
    """Whether a path would leave the base of its upstream: by going up, by letters that are none, or by naming a host."""
    plain = path
    for _ in range(_ESCAPED):
        if not plain.startswith("/") or _ODD.search(plain) or _goes_up(plain):
            return True
        again = unquote(plain, errors="replace")
        if again == plain:
            break
        plain = again
    return False


def _goes_up(path: str) -> bool:
    """Whether a path leads above where it begins, without the version, in whose place that of an upstream may be put."""
    depth = 0
    for step in _VERSION.sub("", path).split("/"):
        depth += 0 if step in ("", ".") else -1 if step == ".." else 1
        if depth < 0:
            return True
    return False
