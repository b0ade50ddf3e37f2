"""Renditions: the text of a message at each residency level.

These are the forms for content that nobody knows more about: head and tail for compressed, the signals of
`relevance` for structured, one line for a pointer. Rules get no guessed form: without one from their author they
stay full.
"""

from collections.abc import Mapping, Sequence

from pageturn.messages import File, Image, Message, Native, Part, Text, Thinking, ToolCall, ToolResult, user
from pageturn.pages import PageKind, ResidencyLevel
from pageturn.relevance import extract
from pageturn.tokens import TokenCounter

_HEAD_LINES = 6
_TAIL_LINES = 3
_LINE_CHARS = 160


def render(message: Message, level: ResidencyLevel, *, handle: str) -> str:
    """The text of a message at a level."""
    full = "\n".join(_texts(message.content))
    match level:
        case ResidencyLevel.FULL:
            return full
        case ResidencyLevel.COMPRESSED:
            return _compressed(full)
        case ResidencyLevel.STRUCTURED:
            return _structured(message, full)
        case ResidencyLevel.POINTER:
            return f"[{handle}: {message.role} message, {len(full):,} characters]"


def sizes(message: Message, kind: PageKind, counter: TokenCounter, *, handle: str) -> dict[ResidencyLevel, int]:
    """The tokens of each level that is offered: on the kind's path, and shorter than the ones above it."""
    offered = {ResidencyLevel.FULL: counter.message(message)}
    if kind.is_rule:
        return offered
    for level in kind.degradation_path[1:]:
        tokens = counter.message(user(render(message, level, handle=handle)))
        if tokens < min(offered.values()):
            offered[level] = tokens
    return offered


def lowest(offered: Mapping[ResidencyLevel, int], level: ResidencyLevel) -> int:
    """The fewest tokens that a page can take at a level or above it."""
    return min(tokens for other, tokens in offered.items() if other >= level)


def _texts(content: Sequence[Part]) -> list[str]:
    texts: list[str] = []
    for part in content:
        match part:
            case Text(text=text) | Thinking(text=text) | Native(text=text):
                texts.append(text)
            case ToolCall(name=name, arguments=arguments):
                texts.append(f"{name} {arguments}")
            case ToolResult(parts=parts):
                texts += _texts(parts)
            case Image(url=url):
                texts.append(f"[image {url[:_LINE_CHARS]}]")
            case File(path=path):
                texts.append(f"[file {path[:_LINE_CHARS]}]")
    return texts


def _compressed(full: str) -> str:
    lines = full.splitlines()
    if len(lines) > _HEAD_LINES + _TAIL_LINES:
        left_out = len(lines) - _HEAD_LINES - _TAIL_LINES
        lines = [*lines[:_HEAD_LINES], f"[... {left_out} lines ...]", *lines[-_TAIL_LINES:]]
    return "\n".join(line if len(line) <= _LINE_CHARS else f"{line[:_LINE_CHARS]} [...]" for line in lines)


def _structured(message: Message, full: str) -> str:
    meta = extract(message)
    fields = {
        "calls": " ".join(meta.tools),
        "files": " ".join(meta.files),
        "errors": ", ".join(meta.error_classes),
        "begins": full.lstrip().split("\n", 1)[0][:80],
    }
    return "\n".join(f"{name}: {value}" for name, value in fields.items() if value)
