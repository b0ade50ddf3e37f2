"""Maps a request path to a vendor's endpoint, and that to a URL of the upstream.

Clients disagree on whether a base URL ends in `/v1` and in a slash, so a known endpoint is known with one `/v1`, with two and without,
and with any number of slashes. Every other path goes to the upstream as it is.
"""

import re
from types import ModuleType
from typing import NamedTuple

from pageturn.apps.gateway.headers import Headers, value_of
from pageturn.formats import anthropic, openai_chat, openai_responses

ANTHROPIC, OPENAI, CHATGPT, GEMINI = "anthropic", "openai", "chatgpt", "gemini"

_SLASHES = re.compile(r"/{2,}|/$")
_VERSION = re.compile(r"(?:/v1){0,2}(?=/)")
_CALLS: dict[str, tuple[str, ModuleType]] = {  # the endpoints at which a model answers, and the format of each
    "/messages": (ANTHROPIC, anthropic),
    "/chat/completions": (OPENAI, openai_chat),
    "/responses": (OPENAI, openai_responses),
}
_KNOWN = {"/messages/count_tokens": ANTHROPIC, "/models": None}
_OF_GEMINI = re.compile(r"/v1(?:alpha|beta)|/(?:v1/)?models/[^/]*:\w+$|/upload/")


class Endpoint(NamedTuple):
    """What a request asks for."""

    vendor: str
    path: str  # as it came; of a known endpoint without the version
    is_known: bool = False
    format: ModuleType | None = None  # of a call of a model

    @property
    def is_call(self) -> bool:
        """Whether a model answers here, so that there is a conversation to look at."""
        return self.format is not None


class Upstream(NamedTuple):
    """Where a vendor is: the part of its base URL before the version, and the version as it is written there."""

    root: str
    version: str

    @classmethod
    def at(cls, base: str, vendor: str) -> "Upstream":
        """The upstream at a base URL as the vendor's own clients take it: OpenAI's ends in a version, which may be none."""
        base = base.rstrip("/")
        root = base.removesuffix("/v1")
        return cls(root, base[len(root) :] if vendor in (OPENAI, CHATGPT) else "/v1")

    def url(self, endpoint: Endpoint, query: str) -> str:
        """The address of an endpoint there."""
        path = endpoint.path
        if endpoint.is_known:
            path = self.version + path
        elif path.startswith("/v1/"):
            path = self.version + path.removeprefix("/v1")
        return f"{self.root}{path}{f'?{query}' if query else ''}"


def endpoint_of(method: str, path: str, headers: Headers, other: str) -> Endpoint:
    """What a request asks for. `other` is the vendor of what shows none."""
    plain = _SLASHES.sub(lambda found: "/" if found.end() < len(path) else "", path)
    bare = plain[match.end() :] if (match := _VERSION.match(plain)) else plain
    if bare in _CALLS and method == "POST":
        vendor, format_ = _CALLS[bare]
        return Endpoint(_account(vendor, headers), bare, is_known=True, format=format_)
    vendor = _vendor(path, headers) or other
    if bare in _KNOWN:
        return Endpoint(_account(_KNOWN[bare] or vendor, headers), bare, is_known=True)
    return Endpoint(_account(vendor, headers), path)


def _vendor(path: str, headers: Headers) -> str | None:
    """The vendor of a path that several of them may have, by its form or by the headers."""
    names = {name for name, _ in headers}
    if b"x-goog-api-key" in names or b"x-goog-api-client" in names or _OF_GEMINI.match(path):
        return GEMINI
    if any(name.startswith(b"anthropic-") for name in names):
        return ANTHROPIC
    return None


def _account(vendor: str, headers: Headers) -> str:
    """OpenAI's models for a ChatGPT account have another address than those for a key."""
    return CHATGPT if vendor == OPENAI and value_of(headers, b"chatgpt-account-id") else vendor
