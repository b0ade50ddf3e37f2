"""Placeholders: what stands in a request for a part that the vendor cannot take."""

from pageturn import data_urls
from pageturn.messages import File, Image, Native, Part


def is_inline(url: str) -> bool:
    """Whether the content is in the URL itself."""
    return url.startswith("data:")


def is_web(url: str) -> bool:
    """Whether anybody can fetch the content; what is neither inline nor on the web is some vendor's id, or a path."""
    return url.startswith(("https://", "http://"))


def placeholder(part: Part) -> str:
    """The words for a part that cannot be shown; none where there is nothing to say."""
    match part:
        case Image(url=url):
            return f"[image {_named(url)}]"
        case File(path=path):
            return f"[file {_named(path)}]"
        case Native(text=text):
            return text
        case _:
            return ""


def _named(url: str) -> str:
    content = data_urls.read(url)
    return f"{content.mime_type}, {len(content.data):,} bytes" if content else url[:200]
