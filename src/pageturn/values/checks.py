"""Checks arguments that callers pass to constructors and methods, where no decoder has checked them."""

import math
from collections.abc import Callable, Iterable
from enum import StrEnum

from pageturn.values.errors import InvalidInput, show


def require_whole(path: str, value: object, *, below: int | None = None) -> None:
    """Raise `InvalidInput` unless the value is a whole number, 0 or more."""
    if type(value) is not int or value < 0 or (below is not None and value >= below):
        bound = f" and below {below}" if below is not None else ""
        raise InvalidInput(path, expected=f"a whole number, 0 or more{bound}", got=show(value))


def require_instance(path: str, value: object, type_: type) -> None:
    """Raise `InvalidInput` if the value has another type."""
    if not isinstance(value, type_):
        raise InvalidInput(
            path,
            expected=f"{'an' if type_.__name__[0] in 'AEIOU' else 'a'} {type_.__name__}",
            got=f"{type(value).__name__} {show(value)}",
        )


def require_text(path: str, value: object) -> None:
    """Raise `InvalidInput` unless the value is text that is not blank and is valid Unicode."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(path, expected="some text", got=show(value))
    try:
        value.encode()
    except UnicodeEncodeError as error:
        lone = ascii(value[error.start : error.end])
        raise InvalidInput(path, expected="text that is valid Unicode", got=f"the lone surrogate {lone}") from error


def require_bool(path: str, value: object) -> None:
    """Raise `InvalidInput` unless the value is true or false."""
    if type(value) is not bool:
        raise InvalidInput(path, expected="true or false", got=show(value))


def require_finite(path: str, value: object, *, at_least: float | None = None, at_most: float | None = None) -> None:
    """Raise `InvalidInput` unless the value is a finite number in range."""
    if isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value):
        low = at_least is not None and value < at_least
        high = at_most is not None and value > at_most
        if not (low or high):
            return
    bounds = [f"at least {at_least:g}"] if at_least is not None else []
    bounds += [f"at most {at_most:g}"] if at_most is not None else []
    raise InvalidInput(path, expected=", ".join(["a finite number", *bounds]), got=show(value))


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number too large for a float
        return False


def require_callable(path: str, value: object) -> None:
    """Raise `InvalidInput` unless the value can be called."""
    if not isinstance(value, Callable):  # type: ignore[arg-type]
        raise InvalidInput(path, expected="a function", got=show(value))


def require_methods(path: str, value: object, *names: str) -> None:
    """Raise `InvalidInput` unless the value is an object with these methods; a class is refused, whose instances have them."""
    if isinstance(value, type) or not all(callable(getattr(value, name, None)) for name in names):
        raise InvalidInput(path, expected=f"an object with the methods {', '.join(names)}", got=show(value))


def require_several(path: str, value: object, what: str) -> None:
    """Raise `InvalidInput` unless the value is a collection; a single text is refused too."""
    if isinstance(value, str | bytes | bytearray) or not isinstance(value, Iterable):
        raise InvalidInput(path, expected=what, got=show(value))


def require_member(path: str, value: object, enum: type[StrEnum]) -> None:
    """Raise `InvalidInput` unless the value is a member of an enum, or its name as text."""
    if value not in list(enum):
        choices = ", ".join(repr(member.value) for member in enum)
        raise InvalidInput(path, expected=f"one of {choices}", got=show(value))
