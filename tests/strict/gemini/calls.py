"""Calls and their responses: as many as calls, directly after them, with their names and ids."""

from collections.abc import Sequence
from typing import Any

from tests.strict.findings import Finds, Found
from tests.strict.gemini.parts import inline
from tests.strict.gemini.reading import Content, Part, Reading, is_third
from tests.strict.shapes import FLAG, LIST, TEXT, Shape, fits, objects, word

NAME = r"[a-zA-Z_][a-zA-Z0-9_.:-]*"
LONGEST_NAME = 128
_CALL = Shape(must={"name": TEXT}, may={"id": TEXT, "args": object, "partialArgs": LIST, "willContinue": FLAG})
_RESPONSE = Shape(
    must={"name": TEXT, "response": object},
    may={"id": TEXT, "parts": LIST, "willContinue": FLAG, "scheduling": TEXT},
)
_IN_RESPONSES = ("image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain")


def calls(reading: Reading) -> Finds:
    seen: set[str] = set()
    for part in reading.parts:
        call, path = part.get("functionCall"), f"{part.path}.functionCall"
        if call is None:
            continue
        if part.role == "user":
            yield Found("call_role", part.path)
        yield from _CALL.faults(call, path, "call_")
        name, id_ = call.get("name"), word(call.get("id"))
        if isinstance(name, str) and not fits(NAME, name):
            yield Found("call_name_pattern", f"{path}.name")
        if isinstance(name, str) and len(name) > LONGEST_NAME:
            yield Found("call_name_length", f"{path}.name")
        if call.get("args") is not None and not isinstance(call["args"], dict):
            yield Found("call_args_type", f"{path}.args")
        if id_ == "":
            yield Found("call_id_empty", f"{path}.id")
        if id_ and id_ in seen:
            yield Found("call_id_repeated", f"{path}.id")
        seen.add(id_ or "")


def responses(reading: Reading) -> Finds:
    for part in reading.parts:
        response, path = part.get("functionResponse"), f"{part.path}.functionResponse"
        if response is None:
            continue
        if part.role == "model":
            yield Found("response_role", part.path)
        yield from _RESPONSE.faults(response, path, "response_")
        if "response" in response and not isinstance(response["response"], dict):
            yield Found("response_type", f"{path}.response")
        if response.get("parts") and not is_third(reading.model):
            yield Found("response_parts_unsupported", f"{path}.parts")
        for place, inner in objects(response.get("parts"), f"{path}.parts"):
            yield from _media(inner, place)


def _media(inner: dict[str, Any], path: str) -> Finds:
    kinds = inner.keys() & {"inlineData", "fileData"}
    if len(kinds) != 1 or not isinstance(blob := inner[next(iter(kinds))], dict):
        yield Found("response_part_kind", path)
        return
    if "inlineData" in kinds:
        yield from inline(blob, f"{path}.inlineData")
    if blob.get("mimeType") not in (*_IN_RESPONSES, None):
        yield Found("response_media_type", f"{path}.mimeType")


def pairs(reading: Reading) -> Finds:
    contents = reading.contents
    for before, content, after in zip((None, *contents), contents, (*contents[1:], None), strict=False):
        asked = content.of("functionCall")
        if asked and content.role == "model" and (after is None or not after.of("functionResponse")):
            yield Found("call_unanswered", asked[0].path)
        answered = content.of("functionResponse")
        if answered and content.role == "user":
            yield from _matched(answered, before)


def _matched(answered: Sequence[Part], before: Content | None) -> Finds:
    asked = before.of("functionCall") if before is not None and before.role == "model" else []
    if not asked:
        yield Found("response_orphan", answered[0].path)
        return
    if len(asked) != len(answered):
        yield Found("response_count", answered[0].path, f"There are {len(asked)} calls and {len(answered)} responses.")
    names = {
        id_: call.get("name") for part in asked if (call := part.get("functionCall")) and (id_ := word(call.get("id")))
    }
    seen: set[str] = set()
    for at, part in enumerate(answered):
        response = part.get("functionResponse") or {}
        id_, name = word(response.get("id")), response.get("name")
        if id_ is None:
            call = (asked[at].get("functionCall") or {}) if at < len(asked) else {}
            if call.get("id"):
                yield Found("response_id_missing", f"{part.path}.functionResponse.id")
            if call and call.get("name") != name:
                yield Found("response_name", f"{part.path}.functionResponse.name")
        elif id_ not in names:
            yield Found("response_id_unknown", f"{part.path}.functionResponse.id")
        elif names[id_] != name:
            yield Found("response_name", f"{part.path}.functionResponse.name")
        if id_ is not None and id_ in seen:
            yield Found("response_repeated", f"{part.path}.functionResponse.id")
        seen.add(str(id_))


def order(reading: Reading) -> Finds:
    for content in reading.contents:
        is_behind = False
        for part in content.parts:
            is_response = part.get("functionResponse") is not None
            if is_response and is_behind:
                yield Found("response_not_first", part.path)
            is_behind = is_behind or not is_response


RULES = (calls, responses, pairs, order)
