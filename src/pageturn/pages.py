"""Pages: what a message is for, and how far it may shrink.

One table says for every kind which residency levels a page may visit, from full down to its floor. Constraint, plan and
preference are promises that somebody made, so no classifier guesses them: only `pin`, `plan` and `prefer` produce them.
"""

from collections.abc import Iterable, Sequence
from enum import Enum, StrEnum
from functools import total_ordering
from itertools import takewhile

from pageturn.errors import BelowFloor, NotADegradation
from pageturn.messages import Message, Role, ToolResult


@total_ordering
class ResidencyLevel(Enum):
    """How much of a page stands in the context; levels compare by fidelity, so full is the greatest.

    Not a StrEnum, because strings would compare by the alphabet.
    """

    FULL = "full"
    COMPRESSED = "compressed"
    STRUCTURED = "structured"
    POINTER = "pointer"

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ResidencyLevel):
            return NotImplemented
        return _BY_FIDELITY.index(self) > _BY_FIDELITY.index(other)

    def __str__(self) -> str:
        return self.value


FULL, COMPRESSED, STRUCTURED, POINTER = _BY_FIDELITY = tuple(ResidencyLevel)


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
        """The floor: the level that a page of this kind never sinks below."""
        return _PATHS[self][-1]


_PATHS = {
    PageKind.BOOTSTRAP: (FULL, STRUCTURED),
    PageKind.CONSTRAINT: (FULL, STRUCTURED),
    PageKind.PLAN: (FULL, STRUCTURED, POINTER),
    PageKind.PREFERENCE: (FULL, COMPRESSED, STRUCTURED, POINTER),
    PageKind.EVIDENCE: (FULL, COMPRESSED, STRUCTURED, POINTER),
    PageKind.CONVERSATION: (FULL, COMPRESSED, STRUCTURED, POINTER),
}


def degrade(kind: PageKind, from_level: ResidencyLevel, to_level: ResidencyLevel) -> ResidencyLevel:
    """`to_level`, if a page of this kind may sink to it from `from_level`; raises otherwise."""
    if to_level < kind.min_fidelity:
        raise BelowFloor(f"a {kind} page stays at {kind.min_fidelity} or above, so it cannot become {to_level}")
    path = kind.degradation_path
    if from_level not in path or to_level not in path:
        raise NotADegradation(f"a {kind} page visits {', '.join(map(str, path))}, not {from_level} -> {to_level}")
    if to_level > from_level:
        raise NotADegradation(f"{from_level} -> {to_level} raises a page and does not degrade it")
    return to_level


def classify(message: Message) -> PageKind:
    """The kind of one message, from its role and parts alone."""
    if message.role is Role.SYSTEM:
        return PageKind.BOOTSTRAP
    if message.role is Role.TOOL or any(isinstance(part, ToolResult) for part in message.content):
        return PageKind.EVIDENCE
    return PageKind.CONVERSATION


def classify_all(messages: Sequence[Message]) -> tuple[PageKind, ...]:
    """The kind of each message; developer messages that open the session are part of its bootstrap."""
    opening = sum(1 for _ in takewhile(_is_instruction, messages))
    lifted: Iterable[PageKind] = (PageKind.BOOTSTRAP for _ in range(opening))
    return (*lifted, *map(classify, messages[opening:]))


def _is_instruction(message: Message) -> bool:
    return message.role in (Role.SYSTEM, Role.DEVELOPER) and not message.tool_results
