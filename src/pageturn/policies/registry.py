"""Registers a user's own policies under the names that journals store."""

from collections.abc import Callable
from typing import TypeVar, overload

import msgspec

from pageturn.policies.contract import DerivePolicy
from pageturn.values.checks import require_text
from pageturn.values.chosen_policy import ChosenPolicy, StoredPolicy
from pageturn.values.errors import InvalidInput, UnknownPolicy, show
from pageturn.values.json import to_json

P = TypeVar("P", bound=type[DerivePolicy])

_registered: dict[str, type[DerivePolicy]] = {}


@overload
def register_policy(name: P) -> P: ...
@overload
def register_policy(name: str) -> Callable[[P], P]: ...
def register_policy(name: str | P) -> P | Callable[[P], P]:
    """Register a policy of your own under a name, so that sessions can use it and journals can name it; a class decorator.

    `@register_policy("keep_errors")` gives the name; `@register_policy` takes the `tag=` of the class, or its name. A journal stores
    the name and the fields of the policy, and a program that opens it has to register the same name first. Defining the same class of
    a module again replaces it; any other use of a name that is taken is an error.
    """
    if isinstance(name, type):
        return _registered_as(name, None)
    require_text("name", name)
    return lambda policy: _registered_as(policy, name)


def _registered_as(policy: P, name: str | None) -> P:
    if not (isinstance(policy, type) and issubclass(policy, DerivePolicy)):
        raise InvalidInput("policy", expected="a subclass of pageturn.DerivePolicy", got=show(policy))
    if policy.plan is DerivePolicy.plan:
        raise InvalidInput("policy", expected="a class with a method `plan`", got=f"{policy.__qualname__} without one")
    name = str(policy.__struct_config__.tag) if name is None else name
    if name in ChosenPolicy.built_in:
        raise InvalidInput("name", expected="one that is not built in", got=show(name))
    taken = _registered.get(name)
    if taken is not None and not _is_defined_again(taken, policy):
        by = f"{taken.__module__}.{taken.__qualname__}"
        raise InvalidInput("name", expected="one that is not taken", got=f"{name!r}, which is registered for {by}")
    if policy.__struct_config__.tag != name:
        policy = _tagged(policy, name)
    _registered[name] = policy
    return policy


def _is_defined_again(taken: type, policy: type) -> bool:
    """Whether a class of a module was only defined again, as in a notebook or by a reload."""
    is_same = (taken.__module__, taken.__qualname__) == (policy.__module__, policy.__qualname__)
    return is_same and "<locals>" not in policy.__qualname__


def _tagged(policy: P, name: str) -> P:
    """The same class with the name as its tag, so that its JSON has the form of the built-in ones."""
    namespace = {"__doc__": policy.__doc__, "__qualname__": policy.__qualname__}
    return msgspec.defstruct(  # type: ignore[return-value]
        policy.__name__, [], bases=(policy,), tag=name, module=policy.__module__, namespace=namespace
    )


def require_registered(policy: DerivePolicy) -> None:
    """Raise unless a journal can name the policy so that reading it back gives the same class."""
    if _class_of(policy.kind) is not type(policy):
        made = f"{type(policy).__qualname__}, which is not registered"
        raise InvalidInput(
            "policy", expected='a built-in policy, or one registered by @pageturn.register_policy("name")', got=made
        )


def as_chosen(policy: DerivePolicy) -> ChosenPolicy:
    """The stored form of a policy; raises if it could not be read back."""
    require_registered(policy)
    if policy.kind in ChosenPolicy.built_in:
        return policy
    raw = msgspec.json.decode(to_json(policy))
    kept = StoredPolicy(policy=raw.pop("policy"), extra=raw or None)
    if restored(kept) != policy:
        raise InvalidInput("policy", expected="fields that come back from JSON as they were", got=show(policy))
    return kept


def restored(chosen: ChosenPolicy) -> DerivePolicy:
    """The policy of a stored form; raises `UnknownPolicy` if the name is not registered, or with other fields."""
    if isinstance(chosen, DerivePolicy):
        return chosen
    assert isinstance(chosen, StoredPolicy), "a journal knows of no others"
    known = _class_of(chosen.policy)
    if known is None:
        raise UnknownPolicy(chosen.policy)
    try:
        return msgspec.convert({**(chosen.extra or {}), "policy": chosen.policy}, known)
    except (msgspec.ValidationError, InvalidInput) as error:
        raise UnknownPolicy(chosen.policy, but=str(error)) from error


def _class_of(name: str) -> type[DerivePolicy] | None:
    return ChosenPolicy.built_in.get(name) or _registered.get(name)
