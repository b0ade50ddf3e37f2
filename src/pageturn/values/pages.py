"""Pages: what a message is for, and how far it may be shortened.

One table gives each kind its residency levels, from full down to its floor. Constraint, plan and preference are explicit, so no
classifier guesses them: only `pin`, `plan` and `prefer` produce them.
"""

from collections.abc import Iterable
from enum import Enum, StrEnum

from pageturn.values import handles
from pageturn.values.checks import require_instance, require_several
from pageturn.values.errors import BelowFloor, NotADegradation
from pageturn.values.json import Closed, Open
from pageturn.values.messages import Message, Role, ToolResult, Visibility


class ResidencyLevel(Enum):
    """How much of a page is in the context. Levels compare by fidelity, so full is the greatest.

    It is not a StrEnum, because strings would compare alphabetically.
    """

    FULL = "full"
    COMPRESSED = "compressed"
    STRUCTURED = "structured"
    POINTER = "pointer"

    def __init__(self, _: str) -> None:
        self.fidelity = -len(type(self).__members__)

    def __lt__(self, other: "ResidencyLevel") -> bool:
        return self.fidelity < other.fidelity if isinstance(other, ResidencyLevel) else NotImplemented

    def __le__(self, other: "ResidencyLevel") -> bool:
        return self.fidelity <= other.fidelity if isinstance(other, ResidencyLevel) else NotImplemented

    def __gt__(self, other: "ResidencyLevel") -> bool:
        return self.fidelity > other.fidelity if isinstance(other, ResidencyLevel) else NotImplemented

    def __ge__(self, other: "ResidencyLevel") -> bool:
        return self.fidelity >= other.fidelity if isinstance(other, ResidencyLevel) else NotImplemented

    def __str__(self) -> str:
        return self.value

    __hash__ = object.__hash__  # levels are keys of many small dicts, and an enum's own hash is slow


class PageKind(StrEnum):
    """What a page is for."""

    BOOTSTRAP = "bootstrap"
    CONSTRAINT = "constraint"
    PLAN = "plan"
    PREFERENCE = "preference"
    EVIDENCE = "evidence"
    CONVERSATION = "conversation"

    @property
    def degradation_path(self) -> tuple[ResidencyLevel, ...]:
        """The levels that a page of this kind may visit, from full down to its floor."""
        return _PATHS[self]

    @property
    def min_fidelity(self) -> ResidencyLevel:
        """The floor: the lowest level of a page of this kind."""
        return _PATHS[self][-1]

    @property
    def is_rule(self) -> bool:
        """Whether pages of this kind are rules, which no renderer may put into other words."""
        return self in (PageKind.BOOTSTRAP, PageKind.CONSTRAINT)


_FULL, _COMPRESSED, _STRUCTURED, _POINTER = ResidencyLevel
_PATHS = {
    PageKind.BOOTSTRAP: (_FULL, _STRUCTURED),
    PageKind.CONSTRAINT: (_FULL, _STRUCTURED),
    PageKind.PLAN: (_FULL, _STRUCTURED, _POINTER),
    PageKind.PREFERENCE: (_FULL, _COMPRESSED, _STRUCTURED, _POINTER),
    PageKind.EVIDENCE: (_FULL, _COMPRESSED, _STRUCTURED, _POINTER),
    PageKind.CONVERSATION: (_FULL, _COMPRESSED, _STRUCTURED, _POINTER),
}


def degrade(
    kind: PageKind, from_level: ResidencyLevel, to_level: ResidencyLevel, *, floor: ResidencyLevel | None = None
) -> ResidencyLevel:
    """`to_level`, if a page of this kind may sink to it from `from_level`; raises otherwise.

    The floor is the kind's, or a higher one that was promised.
    """
    floor = kind.min_fidelity if floor is None else max(floor, kind.min_fidelity)
    if to_level < floor:
        raise BelowFloor(f"a {kind} page stays at {floor} or above, so it cannot become {to_level}")
    path = kind.degradation_path
    if from_level not in path or to_level not in path:
        raise NotADegradation(f"a {kind} page visits {', '.join(map(str, path))}, not {from_level} -> {to_level}")
    if to_level > from_level:
        raise NotADegradation(f"{from_level} -> {to_level} raises a page and does not degrade it")
    return to_level


def classify(message: Message, *, is_opening: bool = False) -> PageKind:
    """The kind of one message, from its role and parts; a developer message that opens a session is bootstrap."""
    require_instance("message", message, Message)
    if message.role == Role.SYSTEM or (is_opening and message.role == Role.DEVELOPER):
        return PageKind.BOOTSTRAP
    if message.role == Role.TOOL or any(isinstance(part, ToolResult) for part in message.content):
        return PageKind.EVIDENCE
    return PageKind.CONVERSATION


def classify_all(messages: Iterable[Message]) -> tuple[PageKind, ...]:
    """The kind of each message of a session."""
    require_several("messages", messages, "messages")
    kinds: list[PageKind] = []
    is_opening = True
    for message in messages:
        kinds.append(classify(message, is_opening=is_opening))
        is_opening = is_opening and kinds[-1] is PageKind.BOOTSTRAP
    return tuple(kinds)


class CallReference(Closed):
    """A tool call of a page: its id, its tool, and the digest of its arguments in canonical form."""

    id: str
    name: str
    arguments: str


class ResultReference(Closed):
    """A tool result of a page: the call it answers, and the digest of its content."""

    call: str
    content: str
    is_error: bool = False


class Page(Open, kw_only=True):
    """A stored message as the journal knows it: everything but its text."""

    seq: int
    check: str
    id: str
    role: Role
    kind: PageKind
    digest: str
    size: int
    tokens: int  # counted when it was appended
    counter: str = ""  # the name of the counter; another counter counts again
    at: int = 0  # when it was appended, in microseconds; 0 if unknown
    visibility: Visibility = Visibility.ALL
    synthetic: bool = False
    calls: tuple[CallReference, ...] = ()
    results: tuple[ResultReference, ...] = ()
    relevance: str | None = None  # the blob with what it is about; empty if there is none
    undone: bool = False
    erased: bool = False
    replaced: bool = False  # an opening prompt that was replaced

    @property
    def counts(self) -> bool:
        """Whether the page is neither undone, nor erased, nor replaced."""
        return not self.undone and not self.erased and not self.replaced

    @property
    def is_human(self) -> bool:
        """Whether a person wrote it, at least in part."""
        return self.role is Role.USER and not self.synthetic and not self.results

    @property
    def handle(self) -> str:
        """The name of the page."""
        return handles.handle(self.seq, self.check)
