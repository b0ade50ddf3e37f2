"""Messages: who speaks, in parts of which types, and what pictures and files they show."""

from itertools import pairwise
from typing import Any

from tests.strict.findings import Finds, Found
from tests.strict.openai_responses.reading import Item, Reading
from tests.strict.shapes import LIST, OBJECT, TEXT, Shape, decoded, fits, listed

_CACHED = {"prompt_cache_breakpoint": OBJECT}
SHAPES = {
    "input_text": Shape(must={"type": TEXT, "text": TEXT}, may=_CACHED),
    "input_image": Shape(
        must={"type": TEXT}, may=_CACHED | {"image_url": (str, dict), "file_id": TEXT, "detail": TEXT}
    ),
    "input_file": Shape(
        must={"type": TEXT},
        may=_CACHED | {"file_id": TEXT, "file_data": TEXT, "file_url": TEXT, "filename": TEXT, "detail": TEXT},
    ),
    "input_audio": Shape(must={"type": TEXT, "input_audio": OBJECT}),
    "output_text": Shape(must={"type": TEXT, "text": TEXT}, may={"annotations": LIST, "logprobs": LIST}),
    "refusal": Shape(must={"type": TEXT, "refusal": TEXT}),
}
_OUTPUT = ("output_text", "refusal")
_IMAGES = r"image/(png|jpe?g|gif|webp)"


def messages(reading: Reading) -> Finds:
    for item in reading.items:
        if item.type != "message":
            continue
        content, path = item.raw.get("content"), f"{item.path}.content"
        if item.role not in ("user", "assistant", "system", "developer"):
            yield Found("role_unknown", f"{item.path}.role")
        if content in ("", []):
            yield Found("content_empty", path)
        elif content is not None and not isinstance(content, str | list):
            yield Found("content_type", path)
        if (phase := item.raw.get("phase")) is not None:
            if phase not in ("commentary", "final_answer"):
                yield Found("phase_unknown", f"{item.path}.phase")
            if item.role != "assistant":
                yield Found("phase_role", f"{item.path}.phase")


def alternation(reading: Reading) -> Finds:
    """A reply may have several messages, and instructions stand anywhere; what the user says in a turn is one message."""
    for before, item in pairwise(reading.items):
        if before.type == item.type == "message" and before.role == item.role == "user":
            yield Found("roles_repeat", f"{item.path}.role")


def parts(reading: Reading) -> Finds:
    for item in reading.items:
        if item.type != "message":
            continue
        for index, part in enumerate(listed(item.raw.get("content"))):
            if not isinstance(part, dict):
                yield Found("part_not_object", f"{item.path}.content[{index}]")
        for path, part in item.parts:
            yield from _part(item, part, path)


def _part(item: Item, part: dict[str, Any], path: str) -> Finds:
    type_ = part.get("type")
    if not isinstance(type_, str) or type_ not in SHAPES:
        yield Found("part_type_unknown", f"{path}.type")
        return
    if item.role == "assistant" and type_ not in _OUTPUT:
        yield Found("input_part_by_assistant", f"{path}.type")
    elif item.role != "assistant" and type_ in _OUTPUT:
        yield Found("output_part_by_others", f"{path}.type")
    elif item.role in ("system", "developer") and type_ in ("input_image", "input_file"):
        yield Found(type_.removeprefix("input_") + "_role", path)
    yield from part_faults(part, path)


def part_faults(part: dict[str, Any], path: str) -> Finds:
    """What is wrong with a part wherever it stands."""
    type_ = part["type"]
    yield from SHAPES[type_].faults(part, path, "part_")
    if part.get("text") == "":
        yield Found("text_empty", f"{path}.text")
    if type_ == "input_image":
        yield from _image(part, path)
    if type_ == "input_file":
        if sum(part.get(name) is not None for name in ("file_data", "file_url", "file_id")) != 1:
            yield Found("file_source", path)
        if part.get("file_data") is not None and not part.get("filename"):
            yield Found("file_name_missing", f"{path}.filename")


def _image(part: dict[str, Any], path: str) -> Finds:
    url = part.get("image_url")
    if (url is None) == (part.get("file_id") is None):
        yield Found("image_source", path)
    if part.get("detail") not in (None, "auto", "low", "high", "original"):
        yield Found("image_detail", f"{path}.detail")
    if url is None:
        return
    if not isinstance(url, str):
        yield Found("image_url_type", f"{path}.image_url")
    elif not url.startswith("data:"):
        if not fits(r"https?://.+", url):
            yield Found("image_url_scheme", f"{path}.image_url")
    else:
        header, _, data = url.removeprefix("data:").partition(",")
        mime_type, *parameters = header.split(";")
        if not fits(_IMAGES, mime_type):
            yield Found("image_media_type", f"{path}.image_url")
        elif "base64" not in parameters or decoded(data) is None:
            yield Found("image_data", f"{path}.image_url")


RULES = (messages, alternation, parts)
