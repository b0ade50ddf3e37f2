"""What every derivation policy has: a wire form, a name, and limits that fit the model."""

from typing import Annotated, Self

import msgspec

from pageturn.errors import InvalidInput
from pageturn.wire import Closed

Tokens = Annotated[int, msgspec.Meta(ge=0)]


class DerivePolicy(Closed, frozen=True, tag_field="policy"):
    """How a session chooses what stands in the context. Members are values; they keep no state."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                raise InvalidInput(f"$.{name}", expected="a whole number, 0 or more", got=repr(value))

    @property
    def kind(self) -> str:
        """The short name: the policy's tag on the wire."""
        return str(self.__struct_config__.tag)

    def fitted(self, window_tokens: int) -> Self:  # noqa: ARG002
        """This policy with its limits set for a model's window; 0 means "as much as the model takes"."""
        return self
