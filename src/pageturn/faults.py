"""Faults: the eight named outcomes that stand where others return nothing. Exceptions live in errors.py."""

from pageturn.wire import Closed


class Fault(Closed, frozen=True, tag_field="kind"):
    """A named outcome. Match on its members, or read `code`."""

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
        """Somebody said no."""
        return isinstance(self, Denied)


class NoMatch(Fault, frozen=True, tag="no_match"):
    """The query ran to its end and nothing matched."""

    def __str__(self) -> str:
        return "no match"


class Denied(Fault, frozen=True, tag="denied"):
    """The request was refused: scope, policy, erasure."""

    reason: str

    def __str__(self) -> str:
        return f"denied: {self.reason}"


class BackendError(Fault, frozen=True, tag="backend_error"):
    """The backend failed to answer."""

    reason: str

    def __str__(self) -> str:
        return f"backend error: {self.reason}"


class FlushMiss(Fault, frozen=True, tag="flush_miss"):
    """Something dirty crossed a boundary without being written."""

    def __str__(self) -> str:
        return "flush miss"


class PostCompactionBootstrap(Fault, frozen=True, tag="post_compaction_bootstrap"):
    """A bootstrap page was missing after a compaction or a reset."""

    def __str__(self) -> str:
        return "post-compaction bootstrap fault"


class PinnedInvariantMiss(Fault, frozen=True, tag="pinned_invariant_miss"):
    """A pinned page was missing when the prompt was put together."""

    def __str__(self) -> str:
        return "pinned invariant miss"


class DuplicateTool(Fault, frozen=True, tag="duplicate_tool"):
    """The same call ran again because its result had been evicted."""

    def __str__(self) -> str:
        return "duplicate tool"


class Refetch(Fault, frozen=True, tag="refetch"):
    """Evicted bytes had to be fetched again."""

    def __str__(self) -> str:
        return "refetch"
