"""Masks what looks like a key in text that is shown: in logs, in exports, in the inspector. What is stored is never changed, since nothing may be lost.

A heuristic: it misses some keys and masks some other text.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec

MASK = "[masked]"
COVER = "•"
_FORMS = (  # what begins a key, in lower case, and its form
    (
        ("sk-", "pk-", "rk-", "pgt-", "gsk_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xox", "hf_"),
        re.compile(r"\b(sk-|pk-|rk-|pgt-|gsk_|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abprs]-|hf_)[A-Za-z0-9_-]{12,512}"),
    ),
    (("akia", "asia", "aiza"), re.compile(r"\b(AKIA|ASIA|AIza)[0-9A-Za-z_-]{16,64}")),
    (("eyj",), re.compile(r"\b(eyJ)[A-Za-z0-9_-]{10,4096}\.[A-Za-z0-9_-]{10,4096}\.[A-Za-z0-9_-]{10,4096}")),
    (("bearer", "basic"), re.compile(r"(?i)\b(bearer |basic )[A-Za-z0-9._~+/=-]{12,4096}")),
    (
        ("api_key", "api-key", "apikey", "token", "secret", "passw"),
        re.compile(r"(?i)((?:api[_-]?key|token|secret|passw(?:or)?d)[\"']?[ ]?[:=][ ]?[\"']?)[^\s\"',;]{8,512}"),
    ),
    (("private",), re.compile(r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)[^-]{1,16384}")),
)


def masked(text: str) -> str:
    """The text with a mask in place of what looks like a key; its beginning stays, which shows its kind."""
    return _without(text, lambda found: f"{found[1]}{MASK}")


def covered(text: str) -> str:
    """The same with each character of a key covered, so that all others stay in their places."""
    return _without(text, lambda found: found[1] + COVER * (len(found[0]) - len(found[1])))


def masked_json(data: bytes) -> bytes:
    """JSON in which every text is masked."""
    return msgspec.json.encode(_each(msgspec.json.decode(data), masked))


def covered_json(data: bytes) -> bytes:
    """JSON in which every text is covered."""
    return msgspec.json.encode(_each(msgspec.json.decode(data), covered))


def _without(text: str, instead: Callable[[re.Match[str]], str]) -> str:
    lowered = text.lower()  # a search for words takes a tenth of the time of one for forms
    for words, form in _FORMS:
        if any(word in lowered for word in words):
            text = form.sub(instead, text)
    return text


def _each(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_each(each, change) for each in value]
    if isinstance(value, dict):
        return {name: _each(each, change) for name, each in value.items()}
    return value
