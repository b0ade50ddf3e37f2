"""What a model reads in a request and what it says, in no vendor's form."""

from typing import Any, NamedTuple


class Entry(NamedTuple):
    """A part of the conversation as the model reads it."""

    kind: str  # user, assistant, system, call or result
    text: str
    name: str = ""  # of the tool that is called, or that answered
    id: str = ""


class Tool(NamedTuple):
    """A tool that the model may call: with arguments by a schema, or with a text where there is none."""

    name: str
    description: str
    parameters: dict[str, Any] | None
    namespace: str | None = None


class View(NamedTuple):
    """A request as the model reads it."""

    tools: dict[str, Tool]
    entries: list[Entry]
    thinks: bool = False  # the model is asked to reason, and its reasoning is kept

    @property
    def texts(self) -> list[str]:
        """Everything that can be read, but not what the model itself asked for."""
        return [entry.text for entry in self.entries if entry.kind != "call"]

    @property
    def asked(self) -> str:
        """The newest words of the person, or of whoever writes in the person's place."""
        return next((entry.text for entry in reversed(self.entries) if entry.kind == "user"), "")


class Call(NamedTuple):
    """A tool that the model calls."""

    tool: Tool
    arguments: dict[str, Any] | str


class Said(NamedTuple):
    """What the model answers."""

    text: str
    calls: tuple[Call, ...] = ()
    thinking: str = ""


class Used(NamedTuple):
    """What a call took, in tokens; the parts of the input add up to all of it."""

    plain: int
    read: int  # from the cache
    written: int  # to the cache, for five minutes
    written_for_long: int  # for an hour
    output: int = 0

    @property
    def input(self) -> int:
        return self.plain + self.read + self.written + self.written_for_long
