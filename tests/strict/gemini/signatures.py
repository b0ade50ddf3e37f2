"""Thought signatures: from the third generation on, every step of the current turn is signed on its first call."""

import base64

from tests.strict.findings import Finds, Found
from tests.strict.gemini.reading import SENTINELS, Content, Reading, is_third
from tests.strict.shapes import decoded, word

_SENTINELS = {*SENTINELS, *(base64.b64encode(word.encode()).decode() for word in SENTINELS)}


def current_turn(reading: Reading) -> Finds:
    if not is_third(reading.model):
        return
    for content in _since_the_user_spoke(reading):
        asked = content.of("functionCall")
        if content.role == "model" and asked and not asked[0].raw.get("thoughtSignature"):
            yield Found("signature_missing", asked[0].path)


def _since_the_user_spoke(reading: Reading) -> tuple[Content, ...]:
    """The contents behind the last one in which the user says more than what functions responded."""
    for at in range(len(reading.contents) - 1, -1, -1):
        content = reading.contents[at]
        if content.role != "model" and not content.of("functionResponse"):
            return reading.contents[at + 1 :]
    return reading.contents


def encoding(reading: Reading) -> Finds:
    for part in reading.parts:
        signature = word(part.raw.get("thoughtSignature"))
        if signature is None:
            continue
        if part.role == "user":
            yield Found("signature_role", f"{part.path}.thoughtSignature")
        if signature not in _SENTINELS and decoded(signature.replace("-", "+").replace("_", "/")) is None:
            yield Found("signature_encoding", f"{part.path}.thoughtSignature")


def unmodified(reading: Reading) -> Finds:
    """A call that came back signed before has the same signature, or none, or the word that skips the check."""
    first: dict[str, str] = {}
    for raw in reading.previous:
        for id_, signature, _ in _signed(Reading.of(raw, reading.model)):
            first.setdefault(id_, signature)
    for id_, signature, path in _signed(reading):
        if first.get(id_, signature) != signature and signature not in _SENTINELS:
            yield Found("signature_modified", path)


def _signed(reading: Reading):
    for part in reading.parts:
        call, signature = part.get("functionCall"), word(part.raw.get("thoughtSignature"))
        if call is not None and (id_ := word(call.get("id"))) and signature:
            yield id_, signature, f"{part.path}.thoughtSignature"


RULES = (current_turn, encoding, unmodified)
