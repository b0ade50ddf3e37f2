"""The recall tool: how a model gets back what its context only names. A pointer is shown only where the model has this tool."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from pageturn.checks import require_finite, require_text
from pageturn.errors import InvalidInput
from pageturn.faults import AnyFault, Fault, NoMatch
from pageturn.handles import parse_range
from pageturn.messages import ToolCall
from pageturn.pages import Page
from pageturn.recall import Recalled, Resolved
from pageturn.wire import Closed

_DESCRIPTION = (
    "Get back earlier parts of this conversation. Messages in <page> tags stand for them in short; each begins with a handle such "
    "as p12-abcd, or a range such as p3-abcd..p9-efgh. Give the handle or the range to read the original, with start to go on "
    "where an answer broke off; or give a query to search everything that was said."
)

_LISTED = 120  # bytes of each page in a list of pages
_MOST_HITS = 5
_LEAST = 200  # bytes of an answer that are of any use


class RecallTool(Closed):
    """The tool as the model sees it, and how much it answers at a time."""

    name: str = "recall"
    most_bytes: int = 12_000

    def __post_init__(self) -> None:
        require_text("$.name", self.name)
        require_finite("$.most_bytes", self.most_bytes, at_least=_LEAST)

    @property
    def description(self) -> str:
        """What the model is told about it."""
        return _DESCRIPTION

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        return {
            "type": "object",
            "properties": {
                "handle": {"type": "string", "description": "p12-abcd or p3-abcd..p9-efgh"},
                "query": {"type": "string"},
                "start": {"type": "integer", "minimum": 0, "description": "bytes into a page, or pages into a range"},
            },
        }

    @property
    def definition(self) -> dict[str, Any]:
        """The whole, in the form in which tokens are counted."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}

    def require_own_name(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Refuse a tool of the host by the same name: nobody could say whom the model calls."""
        for index, tool in enumerate(tools):
            if self.name in _names(tool):
                others = f"no {self.name!r}, which is the recall tool (RecallTool(name=...) calls it something else)"
                raise InvalidInput("tools", expected=others, got=f"a tool of that name at tools[{index}]")


def _names(tool: Mapping[str, Any]) -> Iterator[Any]:
    """The names of a definition, in the form of any vendor: on top, beside its type, or in a list of functions."""
    declared = [tool.get("function_declarations"), tool.get("functionDeclarations")]
    listed = (each for declarations in declared if isinstance(declarations, list | tuple) for each in declarations)
    for fields in (tool, tool.get("function"), tool.get("custom"), *listed):
        if isinstance(fields, Mapping):
            yield fields.get("name")


class RecallRequest(Closed):
    """What a call of the tool asks for."""

    handle: str = ""
    query: str = ""
    start: int = 0

    @classmethod
    def of(cls, call: ToolCall) -> "RecallRequest":
        """Read the arguments of a call; what is not as it should be counts as left out."""
        value = call.parsed
        given = value if isinstance(value, dict) else {}
        texts = {name: str(given[name]).strip() for name in ("handle", "query") if isinstance(given.get(name), str)}
        start = given.get("start")
        return cls(start=start if type(start) is int and start >= 0 else 0, **texts)


class Answer(Closed):
    """What the tool says, and whether it is a failure."""

    text: str
    is_error: bool = False
    given: tuple[str, ...] = ()  # the handles of the pages whose words it gave


class Source(Protocol):
    """What the tool asks: a session, or whatever stands for one."""

    def resolve(self, handle: str, *, start: int = 0, length: int | None = None) -> Resolved | AnyFault: ...

    def recall(self, query: str, limit: int = 5) -> Recalled | AnyFault: ...

    def pages_between(self, handles: str) -> Sequence[Page] | AnyFault: ...


def answer(tool: RecallTool, asked: RecallRequest, source: Source, most_bytes: int | None = None) -> Answer:
    """What the model gets for a call of the tool: not much more than it takes at a time, and it says where to go on."""
    if most_bytes is not None and most_bytes < tool.most_bytes:
        tool = RecallTool(name=tool.name, most_bytes=max(most_bytes, _LEAST))
    if not asked.handle and not asked.query:
        return Answer("give a handle such as p12-abcd, a range of two handles, or a query", is_error=True)
    if not asked.handle:
        return _found(tool, source.recall(asked.query, limit=4 * _MOST_HITS))
    if parse_range(asked.handle) is not None:
        return _range(tool, asked, source)
    return _page(asked, source.resolve(asked.handle, start=asked.start, length=tool.most_bytes))


def _page(asked: RecallRequest, outcome: Resolved | AnyFault) -> Answer:
    if isinstance(outcome, Fault):
        return Answer(f"{asked.handle}: {outcome}", is_error=True)
    if not outcome.text:
        return Answer(f"{asked.handle}: nothing beyond byte {outcome.size:,}", is_error=True)
    left = outcome.size - outcome.end
    more = f"\n[{left:,} more bytes; go on with start {outcome.end}]" if left else ""
    return Answer(f"{outcome.text}{more}", given=(asked.handle,))


def _range(tool: RecallTool, asked: RecallRequest, source: Source) -> Answer:
    """The pages of a range whole where they fit, or else a list of them."""
    pages = source.pages_between(asked.handle)
    if isinstance(pages, Fault):
        return Answer(f"{asked.handle}: {pages}", is_error=True)
    left = list(pages[asked.start :])
    whole = sum(page.size for page in left) <= tool.most_bytes
    told: list[str] = []
    given: list[str] = []
    room = tool.most_bytes
    for at, page in enumerate(left):
        outcome = source.resolve(page.handle, length=None if whole else _LISTED)
        text = str(outcome) if isinstance(outcome, Fault) else outcome.text
        words = f"\n{text}" if whole else f", {page.size:,} bytes: {' '.join(text.split())}"
        line = f"{page.handle} {page.role}{words}"
        room -= len(line.encode()) + 1
        if room < 0 and told:
            told.append(f"[{len(left) - at:,} more pages; go on with start {asked.start + at}]")
            break
        told.append(line)
        given += [page.handle] if whole and not isinstance(outcome, Fault) else []
    return Answer("\n".join(told) or f"{asked.handle}: no pages beyond {len(pages):,}", not told, tuple(given))


def _found(tool: RecallTool, outcome: Recalled | AnyFault) -> Answer:
    """The best matches, but for what the tool itself was asked and said before."""
    if isinstance(outcome, Fault):
        return Answer(str(outcome), is_error=True)
    hits = [hit for hit in outcome.hits if hit.tool != tool.name][:_MOST_HITS]
    lines = [f"{hit.handle} {hit.role}, {hit.size:,} bytes: {hit.excerpt}" for hit in hits]
    while len(lines) > 1 and sum(len(line.encode()) + 1 for line in lines) > tool.most_bytes:
        lines.pop()
    return Answer("\n".join(lines) or str(NoMatch()), is_error=not hits)
