"""Chooses the headers that a proxy passes on: all but the hop-by-hop ones and our own."""

from collections.abc import Iterable

Headers = tuple[tuple[bytes, bytes], ...]  # names in lower case, in the order in which they came

OWN = b"x-pageturn"  # what a client says to us, and what we say to it
SESSION = b"x-pageturn-session"
TOKEN = b"x-pageturn-token"
DECISION = b"x-pageturn-decision"
REQUEST_ID = b"x-pageturn-request-id"

_OF_A_CONNECTION = frozenset(
    (
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
_LONGEST = 1_000  # characters of a value that we write
_PLAIN = bytes(byte if 32 <= byte < 127 else ord("?") for byte in range(256))
_TOO_MANY = 429
_WAIT = ((b"retry-after", b"5"),)  # seconds; where the provider names none, some clients give up at once
_OF_A_REQUEST = frozenset((b"host", b"expect", b"content-length"))  # which every sender sets itself


def value_of(headers: Headers, name: bytes) -> str | None:
    """The value of a header, the first if there are several."""
    return next((value.decode("latin-1") for each, value in headers if each == name), None)


def lowered(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Headers as they came from a library."""
    return tuple((name.lower(), value) for name, value in headers)


def for_upstream(headers: Headers) -> Headers:
    """What of a client's request the provider gets: keys and cookies too, but nothing that is meant for us."""
    left_out = _OF_A_REQUEST | _named_by_connection(headers)
    return tuple(
        (name, value)
        for name, value in headers
        if name not in left_out and name != OWN and not name.startswith(OWN + b"-")
    )


def for_client(headers: Headers) -> Headers:
    """What of a provider's answer the client gets."""
    left_out = _named_by_connection(headers)
    return tuple((name, value) for name, value in headers if name not in left_out)


def with_patience(headers: Headers, status: int) -> Headers:
    """The headers of an answer; a 429 without a time to wait gets one."""
    names = {name for name, _ in headers}
    is_silent = status == _TOO_MANY and not names & {b"retry-after", b"retry-after-ms"}
    return (*headers, *_WAIT) if is_silent else headers


def with_changes(headers: Headers, changes: Iterable[tuple[bytes, bytes | None]]) -> Headers:
    """The headers with others in the place of those of the same name; None takes one away."""
    new = dict(changes)
    kept = tuple((name, value) for name, value in headers if name not in new)
    return (*kept, *((name, value) for name, value in new.items() if value is not None))


def as_header(text: str) -> bytes:
    """A text as the value of a header: one line of ASCII, and no more than clients take."""
    line = " ".join(text[:_LONGEST].split())
    return line.encode("ascii", "replace").translate(_PLAIN)


def wants_websocket(headers: Headers) -> bool:
    """Whether a request asks for another protocol that we do not speak."""
    return "websocket" in (value_of(headers, b"upgrade") or "").lower()


def _named_by_connection(headers: Headers) -> frozenset[bytes]:
    """The headers of one connection: those that always are, and those that this one names."""
    named = (value.lower().split(b",") for name, value in headers if name == b"connection")
    return _OF_A_CONNECTION.union(each.strip() for names in named for each in names)


def is_subscription(headers: Headers) -> bool:
    """Whether a client is logged in with a monthly plan, and not with a key."""
    betas = (value_of(headers, b"anthropic-beta") or "").split(",")
    return value_of(headers, b"chatgpt-account-id") is not None or any(
        each.strip().startswith("oauth-") for each in betas
    )
