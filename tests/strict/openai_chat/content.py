"""What a message says: no empty parts, each part of a known type and where its role may have it."""

from typing import Any

from tests.strict.findings import Finds, Found
from tests.strict.openai_chat.reading import Message, Reading
from tests.strict.shapes import ANY, OBJECT, TEXT, Shape, decoded, fits, listed, word

_CACHED = {"prompt_cache_breakpoint": OBJECT}
_SHAPES = {
    "text": Shape(must={"type": TEXT, "text": TEXT}, may=_CACHED),
    "image_url": Shape(must={"type": TEXT, "image_url": OBJECT}, may=_CACHED),
    "input_audio": Shape(must={"type": TEXT, "input_audio": OBJECT}, may=_CACHED),
    "file": Shape(must={"type": TEXT, "file": OBJECT}, may=_CACHED),
    "refusal": Shape(must={"type": TEXT, "refusal": TEXT}),
}
_IMAGE = Shape(must={"url": TEXT}, may={"detail": ANY})
_ROLE_CODES = {"image_url": "image_role", "input_audio": "audio_role", "file": "file_role"}
_IMAGES = r"image/(png|jpe?g|gif|webp)"


def contents(reading: Reading) -> Finds:
    for message in reading.messages:
        content, path = message.raw.get("content"), f"{message.path}.content"
        if message.role == "assistant" and not _says_something(message.raw):
            yield Found("assistant_empty", message.path)
        elif content is None:
            if "content" in message.raw and message.role != "assistant":
                yield Found("content_null", path)
        elif not isinstance(content, str | list):
            yield Found("content_type", path)
        elif content == []:
            yield Found("content_parts_empty", path)
        elif content == "" and message.role not in ("tool", "assistant"):
            yield Found("content_empty", path)


def _says_something(raw: dict[str, Any]) -> bool:
    return any(raw.get(name) for name in ("content", "refusal", "audio", "tool_calls", "function_call"))


def parts(reading: Reading) -> Finds:
    for message in reading.messages:
        for index, part in enumerate(listed(message.raw.get("content"))):
            if not isinstance(part, dict):
                yield Found("part_not_object", f"{message.path}.content[{index}]")
        for path, part in message.parts:
            type_ = word(part.get("type")) or ""
            shape = _SHAPES.get(type_)
            if shape is None:
                yield Found("part_type_unknown", f"{path}.type")
                continue
            yield from shape.faults(part, path, "part_")
            yield from _role(message, type_, path)
            yield from _text(part, path)


def _role(message: Message, type_: str, path: str) -> Finds:
    if type_ == "text" or (message.role == "user" and type_ != "refusal"):
        return
    if message.role == "tool":
        yield Found("tool_content_part", path)
    elif type_ == "refusal":
        if message.role != "assistant":
            yield Found("refusal_role", path)
    else:
        yield Found(_ROLE_CODES[type_], path)


def _text(part: dict[str, Any], path: str) -> Finds:
    if part.get("type") == "text" and part.get("text") == "":
        yield Found("text_empty", f"{path}.text")


def media(reading: Reading) -> Finds:
    for message in reading.messages:
        for path, part in message.parts:
            match part:
                case {"type": "image_url", "image_url": dict() as image}:
                    yield from _image(image, f"{path}.image_url")
                case {"type": "input_audio", "input_audio": dict() as audio}:
                    if audio.get("format") not in ("wav", "mp3"):
                        yield Found("audio_format", f"{path}.input_audio.format")
                    if decoded(audio.get("data")) is None:
                        yield Found("audio_data", f"{path}.input_audio.data")
                case {"type": "file", "file": dict() as file}:
                    if ("file_data" in file) == ("file_id" in file):
                        yield Found("file_source", f"{path}.file")
                    if "file_data" in file and not file.get("filename"):
                        yield Found("file_name_missing", f"{path}.file.filename")


def _image(image: dict[str, Any], path: str) -> Finds:
    yield from _IMAGE.faults(image, path, "image_")
    if image.get("detail") not in (None, "auto", "low", "high", "original"):
        yield Found("image_detail", f"{path}.detail")
    url = image.get("url")
    if not isinstance(url, str):
        return
    if not url.startswith("data:"):
        if not fits(r"https?://.+", url):
            yield Found("image_url_scheme", f"{path}.url")
        return
    header, _, data = url.removeprefix("data:").partition(",")
    mime_type, *parameters = header.split(";")
    if not fits(_IMAGES, mime_type):
        yield Found("image_media_type", f"{path}.url")
    elif "base64" not in parameters or decoded(data) is None:
        yield Found("image_data", f"{path}.url")


RULES = (contents, parts, media)
