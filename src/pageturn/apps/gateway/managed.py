"""Defines a managed request: one that is in a session, and what was made of it so far."""

from typing import NamedTuple

from pageturn.apps.gateway.model_request import ModelRequest
from pageturn.apps.gateway.new_words import NewWords
from pageturn.apps.gateway.places import Terms
from pageturn.apps.gateway.sessions import Ticket
from pageturn.values.context import Context
from pageturn.values.recall_tool import RecallTool


class Managed(NamedTuple):
    """A request that is in a session, and what was made of it."""

    request: ModelRequest
    ticket: Ticket
    terms: Terms
    whole_tokens: int  # of the client's own history, by our count
    is_subscription: bool  # its client pays by the month
    context: Context | None = None  # where one was derived
    is_derived: bool = False  # the context was sent, and not what the client wrote
    # Sent whole although the session is derived, so that its answer follows a different history.
    is_apart: bool = False
    note: str = ""
    sent_bytes: int | None = None  # of the body in the place of the client's
    words: NewWords = NewWords.FIT

    @property
    def whole_note(self) -> str:
        """What `x-pageturn` says where the client's own history was sent, since the derived one would say the same."""
        return f"whole; in={self.whole_tokens}{f'; {self.words}' if self.words else ''}"

    @property
    def tool(self) -> RecallTool | None:
        """The recall tool, where the session has it and the request can use it."""
        if self.terms.tool is None or not self.request.can_recall:
            return None
        return RecallTool(name=self.terms.tool)
