"""Masks what looks like a key in text that is shown: in logs, in exports. What is stored is never changed, since nothing may be lost.

A heuristic: it misses some keys and masks some other text.
"""

import re
from typing import Any

import msgspec

MASK = "[masked]"
_FORMS = (
    re.compile(r"\b(sk-|pk-|rk-|pgt-|gsk_|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abprs]-|hf_)[A-Za-z0-9_-]{12,512}"),
    re.compile(r"\b(AKIA|ASIA|AIza)[0-9A-Za-z_-]{16,64}"),
    re.compile(r"\b(eyJ)[A-Za-z0-9_-]{10,4096}\.[A-Za-z0-9_-]{10,4096}\.[A-Za-z0-9_-]{10,4096}"),
    re.compile(r"(?i)\b(bearer |basic )[A-Za-z0-9._~+/=-]{12,4096}"),
    re.compile(r"(?i)((?:api[_-]?key|token|secret|passw(?:or)?d)[\"']?[ ]?[:=][ ]?[\"']?)[^\s\"',;]{8,512}"),
)
_PRIVATE_KEY = re.compile(r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)[^-]{1,16384}")


def masked(text: str) -> str:
    """The text with a mask in place of what looks like a key; its beginning stays, which shows its kind."""
    for form in (*_FORMS, _PRIVATE_KEY):
        text = form.sub(rf"\g<1>{MASK}", text)
    return text


def masked_json(data: bytes) -> bytes:
    """JSON in which every text is masked."""
    return msgspec.json.encode(_masked(msgspec.json.decode(data)))


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, list):
        return [_masked(each) for each in value]
    if isinstance(value, dict):
        return {name: _masked(each) for name, each in value.items()}
    return value
