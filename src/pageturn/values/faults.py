"""Faults: the eight named outcomes that are returned where other libraries return nothing. Exceptions are in errors.py."""

from pageturn.values.json import Closed


class Fault(Closed, tag_field="kind"):
    """A named outcome. Match on its members, or read `code`."""

    def __post_init__(self) -> None:
        if type(self) is Fault:
            raise TypeError("Fault is the base of the eight; use one of them")

    def __str__(self) -> str:
        return self.code.replace("_", " ")

    @property
    def code(self) -> str:
        """The name of the outcome, for logs and filters."""
        return str(self.__struct_config__.tag)

    @property
    def is_no_match(self) -> bool:
        """The query ran to its end and found nothing."""
        return isinstance(self, NoMatch)

    @property
    def is_denied(self) -> bool:
        """The request was refused."""
        return isinstance(self, Denied)


class NoMatch(Fault, tag="no_match", omit_defaults=True):
    """The query ran to its end and nothing matched."""

    reason: str = ""  # what exists instead, if that is known

    def __str__(self) -> str:
        return f"no match: {self.reason}" if self.reason else "no match"


class Denied(Fault, tag="denied"):
    """The request was refused: scope, policy, erasure."""

    reason: str

    def __str__(self) -> str:
        return f"denied: {self.reason}"


class BackendError(Fault, tag="backend_error"):
    """The backend failed to answer."""

    reason: str

    @classmethod
    def of(cls, error: Exception) -> "BackendError":
        """The fault for an error; a file name in it may be invalid text."""
        return cls(str(error).encode("utf-8", "replace").decode())

    def __str__(self) -> str:
        return f"backend error: {self.reason}"


class FlushMiss(Fault, tag="flush_miss"):
    """Unsaved data passed a boundary."""


class PostCompactionBootstrap(Fault, tag="post_compaction_bootstrap"):
    """A bootstrap page was missing after a compaction or a reset."""

    def __str__(self) -> str:
        return "post-compaction bootstrap fault"


class PinnedInvariantMiss(Fault, tag="pinned_invariant_miss"):
    """A pinned page was missing when the prompt was put together."""


class DuplicateTool(Fault, tag="duplicate_tool"):
    """The same call ran again because its result had been evicted."""


class Refetch(Fault, tag="refetch"):
    """An evicted result was fetched again."""


AnyFault = (
    NoMatch
    | Denied
    | BackendError
    | FlushMiss
    | PostCompactionBootstrap
    | PinnedInvariantMiss
    | DuplicateTool
    | Refetch
)
