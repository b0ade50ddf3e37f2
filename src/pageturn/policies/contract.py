"""What every derivation policy has: a wire form, a name, a limit for the model at hand, and a plan for a fold."""

from typing import Annotated, ClassVar

import msgspec

from pageturn.tokens.windows import input_capacity
from pageturn.values.checks import require_whole
from pageturn.values.chosen_policy import ChosenPolicy
from pageturn.values.json import Closed
from pageturn.values.layout import Frame, Growth, Levels
from pageturn.values.usage import MOST_TOKENS

Whole = Annotated[int, msgspec.Meta(ge=0, lt=MOST_TOKENS)]


class DerivePolicy(Closed, ChosenPolicy, tag_field="policy"):
    """How a session chooses what is in the context. Members are values; they keep no state, and the same question gets the same answer.

    One of your own is a subclass with a `plan`, registered by `register_policy`. Rules, pairs, the budget and all other promises hold
    whatever it says: it only chooses what deserves more than those demand.
    """

    keeps_ledger: ClassVar[bool] = False  # whether its index lines say what was changed
    wishes_summaries: ClassVar[bool] = False  # whether it would rather have summaries in their place
    looks_ahead: ClassVar[bool] = False  # whether it must know what comes next, so that only the lab can follow it

    def __post_init__(self) -> None:
        if type(self) is DerivePolicy:
            raise TypeError("DerivePolicy is a base; use one of its members")
        for field in msgspec.structs.fields(type(self)):
            if field.type == Whole:
                require_whole(f"$.{field.name}", getattr(self, field.name))

    @property
    def kind(self) -> str:
        """The short name: the policy's tag on the wire."""
        return str(self.__struct_config__.tag)

    def limit_tokens(self, window_tokens: int) -> int:
        """The most tokens that a context may have under this policy, for a model with this window."""
        return input_capacity(window_tokens)

    def is_full(self, growth: Growth, budget_tokens: int) -> bool:
        """Whether a context has grown so much that it must be folded."""
        return growth.tokens > budget_tokens

    def pays(self, growth: Growth, budget_tokens: int) -> bool:  # noqa: ARG002
        """Whether a fold would pay though none is needed yet."""
        return False

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:
        """The level that each unit deserves beyond the least that the laws demand, by its first page; what it wants most comes first.

        `frame.candidates` are the units, with the tokens of each level that they offer in `sizes`; `tokens` is what the least
        takes. Units that are left out stand in index lines. What the budget does not hold is taken back, the last first.
        """
        raise NotImplementedError
