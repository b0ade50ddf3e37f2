"""Checks names of sessions, and makes ids from a clock and randomness that are passed in."""

import re
from collections.abc import Callable
from datetime import datetime
from hashlib import blake2b

from pageturn.values.checks import require_instance
from pageturn.values.errors import InvalidInput, show

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def require_session_id(name: str) -> None:
    """Raise `InvalidInput` for names that could be taken for a path, or that cannot be typed."""
    if not isinstance(name, str) or not _SESSION.fullmatch(name) or ".." in name:
        raise InvalidInput("id", expected="1 to 128 letters, digits, '.', '_' or '-'", got=show(name))


def fitting_session_id(name: str) -> str:
    """A valid session name made from any text; always the same, and different for different texts."""
    if isinstance(name, str) and _SESSION.fullmatch(name) and ".." not in name:
        return name
    plain = re.sub(r"\.\.+|[^A-Za-z0-9._-]+", "-", name).strip("-._")[:100] or "session"
    return f"{plain}-{blake2b(name.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"


def uuid7(now: datetime, entropy: Callable[[int], bytes]) -> str:
    """A UUID of version 7: ordered by time, unique by chance."""
    millis = micros(now) // 1_000
    bits = int.from_bytes(entropy(10), "big")
    value = (millis & (2**48 - 1)) << 80 | 0x7 << 76 | (bits >> 62 & 0xFFF) << 64 | 0b10 << 62 | bits & (2**62 - 1)
    text = f"{value:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def micros(moment: datetime) -> int:
    """A moment in microseconds, as stores keep it."""
    if type(moment) is not datetime:  # called four times per append
        require_instance("clock", moment, datetime)
    return int(moment.timestamp() * 1_000_000)
