"""Parts: each of one kind, not empty, with media that the model takes."""

from tests.strict.findings import Finds, Found
from tests.strict.gemini.reading import Reading
from tests.strict.shapes import ANY, FLAG, OBJECT, TEXT, Shape, decoded, fits, listed

KINDS = tuple(
    "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse".split()
)
_PART = Shape(
    may={
        "text": TEXT,
        **dict.fromkeys(KINDS[1:], OBJECT),
        "thought": FLAG,
        "thoughtSignature": TEXT,
        "videoMetadata": OBJECT,
        "mediaResolution": ANY,
        "partMetadata": OBJECT,
        "mediaProcessing": ANY,
        "audioTranscription": ANY,
        "speechMetadata": ANY,
    }
)
_INLINE = Shape(must={"mimeType": TEXT, "data": TEXT}, may={"displayName": TEXT})
_FILE = Shape(must={"fileUri": TEXT}, may={"mimeType": TEXT, "displayName": TEXT})
_MEDIA = (
    r"image/(png|jpeg|jpg|webp|heic|heif|gif|bmp|avif)|audio/[\w.+-]+|video/[\w.+-]+|text/[\w.+-]+"
    r"|application/(pdf|json|rtf|x-javascript|x-python|x-typescript|javascript|xml)"
)


def shapes(reading: Reading) -> Finds:
    for content in reading.contents:
        for index, part in enumerate(listed(content.raw.get("parts"))):
            if not isinstance(part, dict):
                yield Found("part_not_object", f"{content.path}.parts[{index}]")
    for part in reading.parts:
        yield from _PART.faults(part.raw, part.path, "part_")
        kinds = [kind for kind in KINDS if part.raw.get(kind) is not None]
        if not kinds:
            yield Found("part_empty", part.path)
        if len(kinds) > 1:
            yield Found("part_two_kinds", part.path)
        is_bare = part.raw.get("thought") is not True and "thoughtSignature" not in part.raw
        if part.raw.get("text") == "" and is_bare:  # a signature may come in a part without words
            yield Found("text_empty", f"{part.path}.text")
        if part.raw.get("thought") is True and part.role == "user":
            yield Found("thought_role", f"{part.path}.thought")


def media(reading: Reading) -> Finds:
    for part in reading.parts:
        if (blob := part.get("inlineData")) is not None:
            yield from inline(blob, f"{part.path}.inlineData")
        if (file := part.get("fileData")) is not None:
            yield from _FILE.faults(file, f"{part.path}.fileData", "file_")
            if file.get("fileUri") == "":
                yield Found("file_uri_empty", f"{part.path}.fileData.fileUri")
            if isinstance(file.get("mimeType"), str) and not fits(_MEDIA, file["mimeType"]):
                yield Found("inline_media_type", f"{part.path}.fileData.mimeType")


def inline(blob: dict, path: str) -> Finds:
    """Faults of inline data wherever it stands."""
    yield from _INLINE.faults(blob, path, "inline_")
    if isinstance(blob.get("mimeType"), str) and not fits(_MEDIA, blob["mimeType"].partition(";")[0]):
        yield Found("inline_media_type", f"{path}.mimeType")
    if blob.get("data") == "":
        yield Found("inline_data_empty", f"{path}.data")
    elif isinstance(blob.get("data"), str) and decoded(_standard(blob["data"])) is None:
        yield Found("inline_data", f"{path}.data")


def _standard(data: str) -> str:
    """The wire takes both alphabets of base64."""
    return data.replace("-", "+").replace("_", "/")


RULES = (shapes, media)
