"""Who speaks when, the instructions, and what a request has beside them."""

from itertools import pairwise

from tests.strict.findings import Finds, Found
from tests.strict.gemini.reading import Reading
from tests.strict.shapes import ANY, TEXT, Shape, listed, objects

_CONTENT = Shape(may={"role": ANY, "parts": ANY})
_ON_THE_WIRE = "contents model systemInstruction tools toolConfig safetySettings generationConfig cachedContent labels serviceTier store"
_OF_THE_CLIENT = (
    "temperature topP topK candidateCount maxOutputTokens stopSequences responseLogprobs logprobs presencePenalty "
    "frequencyPenalty seed responseMimeType responseSchema responseJsonSchema routingConfig modelSelectionConfig "
    "responseModalities mediaResolution speechConfig audioTimestamp automaticFunctionCalling thinkingConfig httpOptions "
    "shouldReturnHttpResponse imageConfig enableEnhancedCivicAnswers modelArmorConfig"
)
_REQUEST = Shape(may=dict.fromkeys(f"{_ON_THE_WIRE} {_OF_THE_CLIENT}".split(), ANY))
_WHOLE = Shape(must={"model": TEXT}, may=_REQUEST.may)


def request(reading: Reading) -> Finds:
    yield from (_WHOLE if reading.is_whole else _REQUEST).faults(reading.raw, "$", "request_")
    contents = reading.raw.get("contents")
    if not isinstance(contents, list):
        yield Found("contents_missing", "$.contents")
    elif not contents:
        yield Found("contents_empty", "$.contents")
    for index, content in enumerate(listed(contents)):
        if not isinstance(content, dict):
            yield Found("content_not_object", f"$.contents[{index}]")
    if reading.raw.get("cachedContent"):
        for name in ("systemInstruction", "tools", "toolConfig"):
            if reading.raw.get(name):
                yield Found("cached_with_rest", f"$.{name}")
    generation = reading.raw.get("generationConfig")
    config = (generation if isinstance(generation, dict) else reading.raw).get("thinkingConfig")
    if isinstance(config, dict) and {"thinkingLevel", "thinkingBudget"} <= config.keys():
        yield Found("thinking_level_and_budget", "$.thinkingConfig")


def contents(reading: Reading) -> Finds:
    for content in reading.contents:
        yield from _CONTENT.faults(content.raw, content.path, "content_")
        parts = content.raw.get("parts")
        if not isinstance(parts, list):
            yield Found("parts_missing", f"{content.path}.parts")
        elif not parts:
            yield Found("parts_empty", f"{content.path}.parts")


def roles(reading: Reading) -> Finds:
    contents = reading.contents
    for content in contents:
        if content.role is None:
            if len(contents) > 1:
                yield Found("role_missing", f"{content.path}.role")
        elif content.role not in ("user", "model"):
            yield Found("role_unknown", f"{content.path}.role")
    if not contents:
        return
    if contents[0].role == "model":
        yield Found("first_not_user", f"{contents[0].path}.role")
    if contents[-1].role == "model":
        yield Found("last_not_user", f"{contents[-1].path}.role")
    for before, content in pairwise(contents):
        if content.role == before.role:
            yield Found("roles_repeat", f"{content.path}.role")


def instructions(reading: Reading) -> Finds:
    if "systemInstruction" not in reading.raw:
        return
    system, path = reading.raw["systemInstruction"], "$.systemInstruction"
    if not isinstance(system, dict):
        yield Found("system_type", path)
        return
    parts = system.get("parts")
    parts = [parts] if isinstance(parts, dict) else parts
    if not listed(parts):
        yield Found("system_parts_empty", f"{path}.parts")
    for place, part in objects(parts, f"{path}.parts"):
        if part.keys() != {"text"}:
            yield Found("system_part_kind", place)
        elif not part["text"]:
            yield Found("system_text_empty", f"{place}.text")


RULES = (request, contents, roles, instructions)
