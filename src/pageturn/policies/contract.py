"""What every derivation policy has: a wire form, a name, and a limit for the model at hand."""

from typing import Annotated

import msgspec

from pageturn.checks import require_whole
from pageturn.errors import InvalidInput
from pageturn.layout import Frame, Growth, Levels
from pageturn.windows import input_capacity
from pageturn.wire import Closed

Whole = Annotated[int, msgspec.Meta(ge=0)]


class DerivePolicy(Closed, tag_field="policy"):
    """How a session chooses what is in the context. Members are values; they keep no state."""

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

    @property
    def can_fold(self) -> bool:
        """Whether it can choose levels, or only say how large a context may become."""
        return type(self).plan is not DerivePolicy.plan

    def limit_tokens(self, window_tokens: int) -> int:
        """The most tokens that a context may have under this policy, for a model with this window."""
        return input_capacity(window_tokens)

    def is_full(self, growth: Growth, budget_tokens: int) -> bool:
        """Whether a context has grown so much that it must be folded."""
        return growth.tokens > budget_tokens

    def pays(self, growth: Growth, budget_tokens: int) -> bool:  # noqa: ARG002
        """Whether a fold would pay though none is needed yet."""
        return False

    def plan(self, frame: Frame, least: Levels, tokens: int) -> Levels:  # noqa: ARG002
        """The level that each unit deserves beyond the least that the laws demand; what it wants most comes first."""
        raise InvalidInput("policy", expected="a policy that can fold: paged", got=self.kind)
