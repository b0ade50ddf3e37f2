"""Proposals: text that a model asks to have stored, and the reasons for rejecting it."""

from enum import StrEnum
from typing import Any

from pageturn.values.json import Closed, Open

MEMORY = "memory."


class Op(StrEnum):
    """How a proposal changes its field."""

    APPEND = "append"
    MERGE = "merge"
    SET_WITH_VERSION = "set_with_version"


class Proposal(Open, kw_only=True):
    """A value for a field, with the pages that support it.

    Fields: `summary` of the pages from the first to the last handle of the evidence; `compressed` or `structured` form of the one page
    named there; `plan`; `preference`; `pin`, a rule, which always waits for a person; and `memory.NAME` for anything else. A key makes
    it idempotent.
    """

    field: str
    value: Any = None
    op: Op = Op.APPEND
    evidence: tuple[str, ...] = ()
    scope: str | None = None
    version: int | None = None
    key: str | None = None
    needs_approval: bool = False  # a person decides, even if the proposal would take effect by itself

    @property
    def is_memory(self) -> bool:
        """Whether the field is a `memory.NAME` field."""
        return self.field.startswith(MEMORY) and len(self.field) > len(MEMORY)


class Rejection(Closed, tag_field="reason"):
    """Why a proposal was rejected."""

    @property
    def code(self) -> str:
        """The name of the reason."""
        return str(self.__struct_config__.tag)


class SchemaMismatch(Rejection, tag="schema_mismatch"):
    """The proposal does not have the form of its field."""

    detail: str


class ProvenanceFail(Rejection, tag="provenance_fail"):
    """The evidence does not resolve."""

    detail: str


class ScopeDenied(Rejection, tag="scope_denied"):
    """The session may not write in that scope."""

    detail: str


class DestructiveOp(Rejection, tag="destructive_op"):
    """The proposal would overwrite something that it has not seen."""


class InvariantViolation(Rejection, tag="invariant_violation"):
    """The proposal would break a guarantee: a floor, a pin, or the quality of a summary."""

    detail: str


class Declined(Rejection, tag="declined"):
    """A person said no, and why."""

    detail: str


AnyRejection = SchemaMismatch | ProvenanceFail | ScopeDenied | DestructiveOp | InvariantViolation | Declined


class ProposalForReview(Closed):
    """A proposal that waits for a person, with what it would change.

    If the content was erased, the value of the proposal is None and the text is empty.
    """

    id: int  # the id for `Session.approve` and `Session.reject`
    proposal: Proposal
    handle: str  # of the host's text that the value would replace; otherwise of the first page that supports it
    text: str  # its present text
    objection: str | None = None  # why approving would end in a rejection now
