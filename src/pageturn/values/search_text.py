"""Extracts the text of a message that a search can find."""

from pageturn.values.messages import File, Image, Message, Native, Text, Thinking, ToolCall, ToolResult


def search_text(message: Message) -> str:
    """The searchable text of a message: everything but images and items that only a vendor can read."""
    words: list[str] = []
    for part in message.content:
        match part:
            case Text(text=text) | Thinking(text=text) | Native(text=text):
                words.append(text)
            case ToolCall(name=name, arguments=arguments):
                words += [name, arguments]
            case ToolResult(parts=parts):
                words += [inner.text for inner in parts if isinstance(inner, Text)]
                words += [inner.path for inner in parts if isinstance(inner, File) and not _is_inline(inner.path)]
            case File(path=path) | Image(url=path) if not _is_inline(path):
                words.append(path)
    return "\n".join(words)


def _is_inline(url: str) -> bool:
    return url.startswith("data:")
