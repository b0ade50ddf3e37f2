"""Images, documents and search results: where they come from and what they are."""

from collections.abc import Iterator

from tests.strict.anthropic.reading import Block, Reading, inside
from tests.strict.findings import Finds, Found
from tests.strict.shapes import decoded, listed, looks_like

_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")


def _media(reading: Reading) -> Iterator[Block]:
    for block in reading.blocks:
        yield block
        if block.type == "tool_result":
            yield from inside(block)


def images(reading: Reading) -> Finds:
    for block in _media(reading):
        source, path = block.raw.get("source"), f"{block.path}.source"
        if block.type != "image" or not isinstance(source, dict):
            continue
        match source.get("type"):
            case "base64":
                data = decoded(source.get("data"))
                if source.get("media_type") not in _IMAGES:
                    yield Found("image_media_type", f"{path}.media_type")
                elif data is None:
                    yield Found("image_data", f"{path}.data")
                elif looks_like(data) not in (None, source["media_type"]):
                    yield Found("image_data_type", f"{path}.data")
            case "url":
                if not str(source.get("url")).startswith("https://"):
                    yield Found("image_url", f"{path}.url")
            case "file" if isinstance(source.get("file_id"), str):
                pass
            case _:
                yield Found("image_source", f"{path}.type")


def documents(reading: Reading) -> Finds:
    for block in _media(reading):
        source, path = block.raw.get("source"), f"{block.path}.source"
        if block.type != "document" or not isinstance(source, dict):
            continue
        match source.get("type"):
            case "base64" | "text" as kind:
                if source.get("media_type") != {"base64": "application/pdf", "text": "text/plain"}[kind]:
                    yield Found("document_media_type", f"{path}.media_type")
                elif kind == "base64" and decoded(source.get("data")) is None:
                    yield Found("document_data", f"{path}.data")
                elif not source.get("data"):
                    yield Found("document_text_empty", f"{path}.data")
            case "content" if source.get("content"):
                pass
            case "url" if isinstance(source.get("url"), str):
                pass
            case "file" if isinstance(source.get("file_id"), str):
                pass
            case _:
                yield Found("document_source", f"{path}.type")


def search_results(reading: Reading) -> Finds:
    for block in _media(reading):
        if block.type == "search_result":
            content = listed(block.raw.get("content"))
            if not content or any(not isinstance(each, dict) or each.get("type") != "text" for each in content):
                yield Found("search_result_content", f"{block.path}.content")


RULES = (images, documents, search_results)
