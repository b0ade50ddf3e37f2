"""Defines how a journal stores a policy: a built-in one as its value, a user's own by its name and fields.

So the state of a session follows from its entries alone, and a journal can be read where the user's policy is not registered.
"""

from typing import Any, ClassVar

import msgspec

from pageturn.values.errors import InvalidInput, show
from pageturn.values.json import Open


class ChosenPolicy:
    """A policy as a journal stores it: a built-in one as itself, any other as its name and fields."""

    __slots__ = ()
    built_in: ClassVar[dict[str, Any]] = {}  # the classes, by name

    @classmethod
    def from_builtins(cls, raw: Any) -> "ChosenPolicy":
        """Read the wire form, `{"policy": name, ...fields}`."""
        name = raw.get("policy") if isinstance(raw, dict) else None
        if not isinstance(name, str):
            raise InvalidInput("$", expected="an object whose `policy` is a name", got=show(raw))
        if name not in cls.built_in:
            fields = raw["$extra"] if "$extra" in raw else {key: raw[key] for key in raw if key != "policy"}
            return StoredPolicy(policy=name, extra=fields or None)
        try:
            policy: ChosenPolicy = msgspec.convert(raw, cls.built_in[name])
        except msgspec.ValidationError as error:
            raise InvalidInput("$", expected=f"the fields of {name}", got=str(error)) from error
        return policy


class StoredPolicy(Open, ChosenPolicy):
    """A policy that is not built in: its registered name, and its fields as JSON."""

    policy: str
