"""Defines the interface of a summarizer: it gets the text of a run of pages and a length, and returns a summary."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from pageturn.context.renditions.structured import PageMessage
from pageturn.values.checks import require_instance, require_text
from pageturn.values.errors import InvalidInput
from pageturn.values.fencing import escaped
from pageturn.values.messages import File, Image, Message, Native, Text, ToolCall, ToolResult
from pageturn.writeback.quality import objection_to
from pageturn.writeback.summaries.stop import Stop


@dataclass(frozen=True)
class SummaryRequest:
    """Consecutive pages, and the kind of summary wanted. Internal pages and rules are not included."""

    pages: tuple[PageMessage, ...]
    target_tokens: int
    least_tokens: int  # a shorter text is rejected as a loss
    count: Callable[[str], int]  # tokens, as the session counts them
    stop: Stop = field(default_factory=Stop)

    def passages(self) -> Iterator[str]:
        """The text of each page with its handle and its role. Thinking is left out."""
        for handle, message in self.pages:
            yield f"{handle} {message.role}: {escaped(_words(message))}"

    def flaw_of(self, text: str) -> str | None:
        """What the quality check will reject in a text, as far as these pages show; None if it is fine."""
        if self.count(text) < self.least_tokens:
            return f"it has fewer than {self.least_tokens} tokens"
        return objection_to(text, [message for _, message in self.pages])


@runtime_checkable
class Summarizer(Protocol):
    """Writes summaries. It runs in its own thread, one request at a time, and may raise any exception."""

    @property
    def name(self) -> str:
        """Its name; under the same name, the same pages are summarized once."""
        ...

    def summarize(self, request: SummaryRequest) -> str:
        """A text of about the wanted length that can replace the pages."""
        ...


def require_summarizer(value: object) -> None:
    """Raise `InvalidInput` if the value is no summarizer, or has a name that the journal cannot store."""
    if isinstance(value, type):  # a class has the attributes of its instances
        raise InvalidInput("summarizer", expected="a Summarizer", got=f"the class {value.__name__}")
    require_instance("summarizer", value, Summarizer)
    assert isinstance(value, Summarizer)
    require_text("summarizer.name", value.name)


def _words(message: Message) -> str:
    said = []
    for part in message.content:
        match part:
            case Text(text=text) | Native(text=text):
                said.append(text)
            case ToolCall(name=name, arguments=arguments):
                said.append(f"calls {name} {arguments}")
            case ToolResult(parts=parts, is_error=is_error):
                inner = [each.text if isinstance(each, Text) else f"[{type(each).__name__.lower()}]" for each in parts]
                said.append("error: " * is_error + "\n".join(inner))
            case Image() | File():
                said.append(f"[{type(part).__name__.lower()}]")
    return "\n".join(said)
