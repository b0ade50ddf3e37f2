"""Defines what every policy has: a stored form, a name, a token limit for a given model, and a plan for a fold."""

from typing import Annotated, ClassVar

import msgspec

from pageturn.tokens.windows import input_capacity
from pageturn.values.checks import require_whole
from pageturn.values.chosen_policy import ChosenPolicy
from pageturn.values.json import Closed
from pageturn.values.layout import Forecast, Frame, Growth, Levels
from pageturn.values.usage import MOST_TOKENS

Whole = Annotated[int, msgspec.Meta(ge=0, lt=MOST_TOKENS)]


class DerivePolicy(Closed, ChosenPolicy, tag_field="policy"):
    """Chooses what is in the context. A policy is a value without state: the same question gets the same answer.

    Your own policy is a subclass with a `plan` method, registered by `register_policy`. Rules, pairs, the budget and all other
    guarantees hold whatever it returns: it only chooses what deserves more than the minimum.
    """

    keeps_ledger: ClassVar[bool] = False  # whether its index lines show what was changed
    wishes_summaries: ClassVar[bool] = False  # whether it would like summaries instead
    looks_ahead: ClassVar[bool] = False  # whether it must know the next turns, so that only the lab can use it

    def __post_init__(self) -> None:
        if type(self) is DerivePolicy:
            raise TypeError("DerivePolicy is a base; use one of its members")
        for field in msgspec.structs.fields(type(self)):
            if field.type == Whole:
                require_whole(f"$.{field.name}", getattr(self, field.name))

    @property
    def notices(self) -> tuple[str, ...]:
        """What a user should know about its settings; shown with every context."""
        return ()

    @property
    def kind(self) -> str:
        """The short name: the policy's tag on the wire."""
        return str(self.__struct_config__.tag)

    def limit_tokens(self, window_tokens: int) -> int:
        """The most tokens that a context may have under this policy, for a model with this window."""
        return input_capacity(window_tokens)

    def is_full(self, growth: Growth, budget_tokens: int) -> bool:
        """Whether the context has grown so much that it must be folded."""
        return growth.tokens > budget_tokens

    def pays(self, growth: Growth, budget_tokens: int) -> bool:  # noqa: ARG002
        """Whether a fold would save money although none is needed yet."""
        return False

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:
        """The level that each unit should have above the minimum, keyed by its first page; the most important first.

        `frame.candidates` are the units, with the tokens of each level that they offer in `sizes`; `tokens` is the size of the
        minimum. Units that are left out go into index lines. What exceeds the budget is taken back, the last first.
        """
        raise NotImplementedError

    def forecast(self, frame: Frame, levels: Levels) -> Forecast | None:  # noqa: ARG002
        """What it expects of a fold that shows the units at these levels; None if it makes no forecast."""
        return None
